// SPDX-License-Identifier: Apache-2.0

use super::*;
use std::sync::Mutex;
use tidemark_capture::Reception;
use tidemark_pipeline::Stats;
use tidemark_pipeline::rows::HostMoment;

/// Rows that a store sees: kind, order, node, host.
type Seen = Arc<Mutex<Vec<(&'static str, u64, u32, u16)>>>;

#[derive(Clone, Default)]
struct Store {
    seen: Seen,
    names: Arc<Mutex<Vec<(u16, String)>>>,
    standing: Arc<Mutex<Standing>>,
}

impl RowSink for Store {
    fn rows(&mut self, postcards: &[PostcardRow], probes: &[ProbeRow]) {
        let mut seen = self.seen.lock().unwrap();
        seen.extend(postcards.iter().map(|r| ("packet", r.order, r.node_id, 0)));
        seen.extend(
            probes
                .iter()
                .map(|r| ("sample", r.order, r.node_id, r.host)),
        );
    }
    fn event(&mut self, row: &EventRow) {
        let mut seen = self.seen.lock().unwrap();
        match &row.event {
            Event::Host { host, name } => {
                self.names.lock().unwrap().push((*host, name.clone()));
                seen.push(("host", row.order, 0, *host));
            }
            Event::Retransmit(at) => seen.push(("retransmit", row.order, at.node_id, at.host)),
            other => panic!("{other:?}"),
        }
    }
    fn standing(&mut self, standing: &Standing) {
        *self.standing.lock().unwrap() = standing.clone();
    }
    fn finish(self: Box<Self>) -> anyhow::Result<()> {
        anyhow::bail!("{} rows", self.seen.lock().unwrap().len())
    }
}

fn packet(order: u64, node_id: u32) -> PostcardRow {
    PostcardRow {
        order,
        node_id,
        ..PostcardRow::default()
    }
}

fn sample(order: u64, node_id: u32, host: u16) -> ProbeRow {
    ProbeRow {
        order,
        node_id,
        host,
        ..ProbeRow::default()
    }
}

fn named(order: u64, host: u16, name: &str) -> EventRow {
    let name = name.to_owned();
    EventRow {
        order,
        event: Event::Host { host, name },
    }
}

#[test]
fn rows_of_two_pipelines_get_one_order_and_one_numbering_of_hosts() {
    let store = Store::default();
    let merge = RowMerge::new(vec![Box::new(store.clone())], 2);
    let (mut a, mut b) = (merge.of_shard(0), merge.of_shard(1));
    a.event(&named(0, 0, "x"));
    b.event(&named(0, 0, "y"));
    b.event(&named(1, 1, "x"));
    a.rows(&[packet(1, 10), packet(3, 10)], &[sample(2, 10, 0)]);
    b.rows(&[packet(2, 11)], &[sample(3, 11, 0), sample(4, 11, 1)]);
    a.rows(&[], &[]);
    a.event(&EventRow {
        order: 4,
        event: Event::Retransmit(HostMoment {
            flow_id: 1,
            node_id: 10,
            time_ns: 0,
            host: 0,
            host_ns: 0,
        }),
    });
    assert_eq!(
        *store.seen.lock().unwrap(),
        [
            ("host", 0, 0, 0),
            ("host", 1, 0, 1),
            ("host", 2, 0, 0),
            ("packet", 3, 10, 0),
            ("packet", 5, 10, 0),
            ("sample", 4, 10, 0),
            ("packet", 6, 11, 0),
            ("sample", 7, 11, 1),
            ("sample", 8, 11, 0),
            ("retransmit", 9, 10, 0),
        ]
    );
    let names = store.names.lock().unwrap().clone();
    let (x, y) = ((0, "x".to_owned()), (1, "y".to_owned()));
    assert_eq!(names, [x.clone(), y, x]);
}

#[test]
fn numbers_of_forgotten_hosts_are_used_again() {
    let store = Store::default();
    let merge = RowMerge::new(vec![Box::new(store.clone())], 2);
    let (mut a, mut b) = (merge.of_shard(0), merge.of_shard(1));
    a.event(&named(0, 0, "kept"));
    b.event(&named(0, 0, "kept"));
    for n in 0..100_000 {
        a.event(&named(n + 1, 1, &format!("of a {n}")));
        b.event(&named(n + 1, 1, &format!("of b {n}")));
    }
    a.rows(&[], &[sample(200_000, 10, 1), sample(200_001, 10, 0)]);
    let names = store.names.lock().unwrap();
    assert!(
        names.iter().all(|(number, _)| *number < 4),
        "{:?}",
        names.last()
    );
    let name_of = |number: u16| &names.iter().rfind(|n| n.0 == number).unwrap().1;
    let seen = store.seen.lock().unwrap();
    let [.., first, last] = &seen[..] else {
        panic!("{seen:?}");
    };
    assert_eq!(
        (name_of(first.3).as_str(), name_of(last.3).as_str()),
        ("of a 99999", "kept")
    );
}

#[test]
fn totals_are_those_of_all_and_the_last_one_completes_the_stores() {
    let store = Store::default();
    let merge = RowMerge::new(vec![Box::new(store.clone())], 2);
    let (mut a, mut b) = (merge.of_shard(0), merge.of_shard(1));
    let standing = |reports| Standing {
        stats: Stats {
            reports,
            ..Stats::default()
        },
        reception: Reception {
            datagrams: reports,
            kernel_drops: 10 * reports,
            ..Reception::default()
        },
        ..Standing::default()
    };
    a.standing(&standing(5));
    b.standing(&standing(7));
    a.standing(&standing(6));
    let all = store.standing.lock().unwrap().clone();
    assert_eq!((all.stats.reports, all.reception.datagrams), (13, 13));
    // Each pipeline counts the drops of the whole collector.
    assert_eq!(all.reception.kernel_drops, 70);
    b.rows(&[packet(0, 11)], &[]);
    assert!(Box::new(a).finish().is_ok());
    let error = Box::new(b).finish().unwrap_err();
    assert_eq!(error.to_string(), "1 rows");
}
