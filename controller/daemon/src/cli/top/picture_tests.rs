// SPDX-License-Identifier: Apache-2.0
use super::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use serde_json::Value;

fn recorded(name: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../console/dev/fixtures/");
    let text = std::fs::read_to_string(format!("{folder}{name}")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A recorded link, and a copy of it as port 7, modified by `change`.
fn state(change: impl Fn(&mut Value)) -> State {
    let first = recorded("links.json")["links"][0].clone();
    let mut second = first.clone();
    second["port"] = 7.into();
    change(&mut second);
    State {
        status: serde_json::from_value(recorded("status.json")).unwrap(),
        links: vec![
            serde_json::from_value(first).unwrap(),
            serde_json::from_value(second).unwrap(),
        ],
        flows: None,
    }
}

fn painted(screen: &Screen, width: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, 40)).unwrap();
    terminal.draw(|f| screen.draw(f)).unwrap();
    terminal.backend().buffer().clone()
}

fn drawn(screen: &Screen, width: u16) -> String {
    let buffer = painted(screen, width);
    let rows = buffer.content.chunks(usize::from(width));
    let rows = rows.map(|r| {
        r.iter()
            .map(ratatui::buffer::Cell::symbol)
            .collect::<String>()
    });
    rows.map(|r| r.trim_end().to_owned() + "\n").collect()
}

#[test]
fn before_the_first_answer_it_says_so() {
    assert!(drawn(&Screen::default(), 80).starts_with("asking the controller\n"));
}

/// Adds flows to the open link, between hosts of one network.
fn with_flows(screen: &mut Screen, ends: &[(&str, u16, &str)]) {
    let mut state = state(|_| ());
    let flow = &recorded("links.json")["links"][0]["estimate"]["flows"][0];
    let flows = ends.iter().enumerate().map(|(i, (src, src_port, dst))| {
        let mut flow = flow.clone();
        flow["flow"] = i.into();
        (flow["node"], flow["port"]) = (10.into(), 1.into());
        let key = serde_json::json!({
            "src": src, "src_port": src_port, "dst": dst, "dst_port": 5001, "protocol": 6,
        });
        flow["key"] = key;
        serde_json::from_value(flow).unwrap()
    });
    let link = key(&state.links[0]);
    state.flows = Some((link, flows.collect()));
    screen.hear(state);
    screen.open = Some(link);
}

#[test]
fn flows_can_be_told_apart_in_a_narrow_terminal() {
    let v4 = [
        ("198.18.100.111", 33_424, "198.18.100.222"),
        ("198.18.100.112", 33_424, "198.18.100.222"),
        ("198.18.100.111", 33_425, "198.18.100.222"),
    ];
    let long = "2001:db8:1234:5678:9abc:def0:1111";
    let (a, b) = (format!("{long}:1"), format!("{long}:2"));
    let v6 = [
        (a.as_str(), 33_424, b.as_str()),
        (b.as_str(), 33_424, b.as_str()),
        (a.as_str(), 33_425, b.as_str()),
    ];
    let mut screen = Screen::default();
    for (flows, width) in [(v4, 80), (v6, 80), (v4, 60), (v6, 60), (v4, 200)] {
        with_flows(&mut screen, &flows);
        let text = drawn(&screen, width);
        let rows = text
            .lines()
            .skip_while(|l| !l.contains("rate Mb/s"))
            .skip(1);
        let rows: Vec<&str> = rows.filter(|l| l.contains(" > ")).collect();
        assert_eq!(rows.len(), 3, "{text}");
        let distinct: std::collections::BTreeSet<&str> = rows.iter().copied().collect();
        assert_eq!(distinct.len(), 3, "{text}");
        for (row, (_, port, _)) in rows.iter().zip(flows) {
            assert!(
                row.contains(&format!(":{port}")) && row.contains(":5001"),
                "{text}"
            );
        }
    }
    with_flows(&mut screen, &v4);
    let whole = drawn(&screen, 80);
    assert!(
        whole.contains("198.18.100.111:33424 > 198.18.100.222:5001"),
        "{whole}"
    );
    for width in [5, 20, 40] {
        let _ = drawn(&screen, width);
    }
}

#[test]
fn a_silent_link_comes_first_and_an_answer_that_fails_is_told() {
    let mut screen = Screen::default();
    screen.hear(state(|l| {
        l["stale"] = true.into();
        l["age_s"] = 5.25.into();
    }));
    let text = drawn(&screen, 160);
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("tidemark-controller "), "{text}");
    for name in rows::LINK_HEADING {
        assert!(lines[2].contains(name), "{name}: {text}");
    }
    assert!(
        lines[3].contains(":7 ") && lines[3].contains("silent 5.25 s"),
        "{text}"
    );
    assert_eq!(lines[1], "");
    screen.problem = Some("cannot connect".into());
    let text = drawn(&screen, 160);
    assert!(
        text.contains("what follows is old: cannot connect"),
        "{text}"
    );
    // Narrow terminals lose columns, not the state, and nothing is cut.
    let narrow = drawn(&screen, 80);
    let heading = narrow.lines().nth(2).unwrap();
    assert!(
        heading.contains("loss") && heading.contains("state"),
        "{narrow}"
    );
    assert!(!heading.contains("Delta"), "{narrow}");
    assert!(narrow.contains("silent 5.25 s"), "{narrow}");
    let _ = drawn(&screen, 20);
}

/// The style of the first row of links at the column with this heading.
fn style_below(screen: &Screen, heading: &str) -> Style {
    let text = drawn(screen, 160);
    let column = text.lines().nth(2).unwrap().find(heading).unwrap();
    painted(screen, 160)[(column as u16, 3)].style()
}

#[test]
fn the_age_of_the_newest_report_is_shown() {
    let age = |age_s: Value| {
        let mut screen = Screen::default();
        screen.hear(state(|l| {
            l["stale"] = true.into();
            l["age_s"] = age_s.clone();
        }));
        let text = drawn(&screen, 160);
        let lines: Vec<_> = text.lines().collect();
        let from = lines[2].find("age").unwrap();
        let to = lines[2].find("state").unwrap();
        let cell = lines[3].get(from..to).unwrap().trim_end().to_owned();
        screen.open = screen.chosen;
        let opened = drawn(&screen, 79);
        let line = format!("age         {cell}");
        assert!(opened.lines().any(|l| l == line), "{opened}");
        cell
    };
    for (age_s, shown) in [(0.12, "0.1 s"), (5.25, "5.2 s"), (86_400.4, "86400 s")] {
        assert_eq!(age(age_s.into()), shown);
    }
    assert_eq!(age(Value::Null), "-");
}

#[test]
fn an_age_is_marked_where_it_is_too_large() {
    let shown = |stale: bool, colours| {
        let mut screen = Screen::new(colours);
        screen.hear(state(|l| {
            l["stale"] = stale.into();
            // Misses its target, and comes first.
            l["targets"]["delay_ms"] = 0.001.into();
        }));
        ["age", "state"].map(|h| style_below(&screen, h))
    };
    let [age, state] = shown(true, true);
    assert_eq!(
        (age.fg, state.fg),
        (Some(Color::Yellow), Some(Color::Yellow))
    );
    let [age, state] = shown(false, true);
    assert_eq!((age.fg, state.fg), (Some(Color::Reset), Some(Color::Red)));
    let bold = |s: &Style| s.add_modifier.contains(Modifier::BOLD);
    assert!(shown(true, false).iter().all(bold));
    let [age, state] = shown(false, false);
    assert!(!bold(&age) && bold(&state));
}

#[test]
fn without_colours_there_are_none() {
    let coloured = |colours| {
        let mut screen = Screen::new(colours);
        screen.hear(state(|l| l["stale"] = true.into()));
        screen.problem = Some("cannot connect".into());
        let all = painted(&screen, 160).content;
        screen.open = screen.chosen;
        let one = painted(&screen, 160).content;
        let cells = all.iter().chain(&one);
        cells
            .filter(|c| (c.fg, c.bg) != (Color::Reset, Color::Reset))
            .count()
    };
    assert!(coloured(true) > 0);
    assert_eq!(coloured(false), 0);
}

#[test]
fn what_misses_a_target_is_named() {
    let mut screen = Screen::default();
    screen.hear(state(|l| {
        l["stale"] = false.into();
        l["targets"]["delay_ms"] = 0.001.into();
        l["targets"]["loss_rate"] = Value::Null;
        l["targets"]["utilisation"] = 0.0.into();
    }));
    let text = drawn(&screen, 160);
    assert!(text.contains("misses delay"), "{text}");
}

#[test]
fn facts_stand_in_columns_and_reasons_are_wrapped() {
    let mut screen = Screen::default();
    screen.hear(state(|_| ()));
    screen.open = screen.chosen;
    let opened = |width| drawn(&screen, width);
    // Twelve facts: three columns of four lines.
    let wide = opened(120);
    let first = wide.lines().nth(2).unwrap();
    for name in ["link ", "util. ", "alpha "] {
        assert!(first.contains(name), "{name}: {wide}");
    }
    let state = screen.state.as_ref().unwrap();
    let link = state.links.iter().find(|l| Some(key(l)) == screen.open);
    let reasons = &link.unwrap().advice.as_ref().unwrap().reasons;
    // Every word is shown if there is room for it.
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let text = words(&wide).join(" ");
    for r in reasons {
        assert!(text.contains(&words(r).join(" ")), "{r}: {wide}");
    }
    // Without enough room the flows keep their place, and the screen says so.
    let narrow = opened(40);
    assert!(narrow.contains("asking for its flows"), "{narrow}");
    assert!(narrow.contains("more lines need a taller"), "{narrow}");
    let _ = (opened(5), opened(1));
}

#[test]
fn the_chosen_link_opens_and_stays_chosen() {
    let mut screen = Screen::default();
    screen.hear(state(|l| l["stale"] = true.into()));
    let first = screen.chosen;
    screen.choose(1);
    assert_ne!(screen.chosen, first);
    screen.choose(100);
    let last = screen.chosen;
    screen.open = screen.chosen;
    let text = drawn(&screen, 120);
    assert!(text.contains("asking for its flows"), "{text}");
    assert!(text.contains("buffer"), "{text}");
    screen.hear(state(|l| l["stale"] = true.into()));
    assert_eq!(screen.chosen, last);
}
