// SPDX-License-Identifier: Apache-2.0
use super::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::Value;

fn recorded(name: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../console/dev/fixtures/");
    let text = std::fs::read_to_string(format!("{folder}{name}")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A recorded link, and the same as port 7, which is `change`d.
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

fn drawn(screen: &Screen, width: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, 40)).unwrap();
    terminal.draw(|f| screen.draw(f)).unwrap();
    let buffer = terminal.backend().buffer();
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
    assert!(text.contains("advised"), "{text}");
    screen.hear(state(|l| l["stale"] = true.into()));
    assert_eq!(screen.chosen, last);
}
