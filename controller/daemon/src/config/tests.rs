// SPDX-License-Identifier: Apache-2.0
use super::*;
use tidemark_estimators::LinkId;

fn parse(text: &str) -> Result<Config, String> {
    let c: Config = toml::from_str(text).map_err(|e| e.to_string())?;
    c.check().map_err(|e| e.to_string())?;
    Ok(c)
}

#[test]
fn empty_file_is_the_default() {
    assert_eq!(parse("").unwrap(), Config::default());
}

#[test]
fn unknown_keys_name_line_and_key() {
    let e = parse("[control]\nmod = \"auto\"").unwrap_err();
    assert!(e.contains("line 2") && e.contains("`mod`"), "{e}");
    assert!(parse("[switches]\n").is_err());
    assert!(parse("[[switches]]\nnode = 1\naddress = \"x\"\nfoo = 1").is_err());
}

#[test]
fn values_are_checked() {
    for (text, key) in [
        ("window_s = 0", "window_s"),
        ("window_s = nan", "window_s"),
        ("retention_s = 5", "retention_s"),
        ("collectors = []", "collectors"),
        ("[targets]\nutilisation = 98", "targets.utilisation"),
        ("[targets]\nloss_rate = 1.5", "targets.loss_rate"),
        ("[targets]\ndelay_ms = 0", "targets.delay_ms"),
        ("[targets]\npriority = [\"loss\", \"loss\"]", "priority"),
        ("[control]\nmax_step_factor = 1", "control.max_step_factor"),
        (
            "[control]\nmax_decrease_factor = 0.5",
            "control.max_decrease_factor",
        ),
        (
            "[control]\nrollback_hold_s = 1e300",
            "control.rollback_hold_s",
        ),
        ("[control]\nmin_limit_bytes = 100000000", "min_limit_bytes"),
        ("[http]\ntoken = \"short\"", "http.token"),
        ("[clickhouse]\nurl = \"http://h:8123\"", "control.audit_log"),
        (
            "[control]\naudit_log = \"a\"\n[clickhouse]\nurl = \"h:8123\"",
            "clickhouse.url",
        ),
        (
            "[control]\naudit_log = \"a\"\n[clickhouse]\nurl = \"http://h\"\nretry_max_ms = 1",
            "clickhouse.retry_max_ms",
        ),
        (
            "[[switches]]\nnode = 1\naddress = \"x\"\n[switches.provision.limits]\nfive = { action = \"unlimited\" }",
            "limits.five",
        ),
        (
            "[[switches]]\nnode = 1\naddress = \"x\"\n[switches.provision.queues]\ncount = 2\nuse = [{ queue = 2 }]",
            "provision.queues.use[0].queue: 2 is none of 2 queues",
        ),
        (
            "[[switches]]\nnode = 1\naddress = \"x\"\n[switches.provision.limits]\n5 = { action = \"drop_tail\", limit_bytes = 9 }",
            "limits.5: 9 is below control.min_limit_bytes",
        ),
        (
            "[[links]]\nnode = 1\nport = 5\nmax_limit_bytes = 15150\n[[switches]]\nnode = 1\naddress = \"x\"\nlimit_unit_bytes = 80",
            "no limit lies between",
        ),
    ] {
        let e = parse(text).unwrap_err();
        assert!(e.contains(key), "{text}: {e}");
    }
}

#[test]
fn each_queue_of_a_port_is_a_link() {
    let links = |queues: [u32; 2]| {
        let link = |q| format!("[[links]]\nnode = 1\nport = 5\nqueue = {q}\n");
        parse(&queues.map(link).concat())
    };
    assert_eq!(links([0, 1]).unwrap().links.len(), 2);
    let e = links([1, 1]).unwrap_err();
    assert!(e.contains("node 1 port 5 queue 1 is given twice"), "{e}");
}

#[test]
fn documented_example_is_valid() {
    let doc = include_str!("../../../../docs/reference/api.md");
    let start = doc.find("```toml\n").unwrap() + 8;
    let end = start + doc[start..].find("```").unwrap();
    let c = parse(&doc[start..end]).unwrap();
    assert_eq!(c.switches[0].provision.as_ref().unwrap().watch.len(), 1);
    assert_eq!(c.max_limit_bytes(LinkId::new(10, 5, 0)), 6_000_000);
    assert_eq!(c.max_limit_bytes(LinkId::new(10, 6, 0)), 4_000_000);
}

#[test]
fn documented_tofino_switch_is_valid() {
    let doc = include_str!("../../../../docs/explanation/control.md");
    let start = doc.find("```toml\n").unwrap() + 8;
    let text = &doc[start..start + doc[start..].find("```").unwrap()];
    let c = parse(text).unwrap();
    assert_eq!(c.switches[0].driver.kind().name, "bfrt");
    let shown = serde_json::to_value(&c.switches[0]).unwrap();
    assert_eq!(shown["bfrt"]["queues"]["5"]["pg_queue"], 8);
    let wrong = text.replace("\n5 = {", "\nfive = {");
    let e = parse(&wrong).unwrap_err();
    assert!(e.contains("switches[0].bfrt.queues.five"), "{e}");
}

#[test]
fn as_packaged_all_is_on_that_outlives_a_restart() {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/packages");
    let text = std::fs::read_to_string(packages.join("etc/controller.toml")).unwrap();
    let c = parse(&text).unwrap();
    let unit = packages.join("systemd/tidemark-controller.service");
    let unit = std::fs::read_to_string(unit).unwrap();
    let kept = unit.lines().find_map(|l| l.strip_prefix("StateDirectory="));
    let kept = Path::new("/var/lib").join(kept.unwrap());
    for file in [c.state_file, c.http.token_file, c.control.audit_log] {
        assert_eq!(file.unwrap().parent(), Some(kept.as_path()));
    }
}
