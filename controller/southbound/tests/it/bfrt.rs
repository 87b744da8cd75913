// SPDX-License-Identifier: Apache-2.0
//! Tests the BFRT driver against a server of our own that checks every message, with descriptions
//! shaped like the real driver's and, if available, with its full ones. (They say nothing about
//! real hardware; the driver has never run on any.)
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

#[allow(dead_code)]
use crate::bfrt_server;

use bfrt_server::{Fault, P4_NAME, Server, Tables};
use std::collections::BTreeMap;
use std::time::Duration;
use tidemark_southbound::bfrt::{Bfrt, Queue, Threshold};
use tidemark_southbound::{Error, Forward, Limit, Provision, Southbound, SwitchReader, Watch};

fn driver(server: &Server, queues: BTreeMap<u32, Queue>) -> Bfrt {
    bfrt_server::driver(&server.address, P4_NAME, queues).unwrap()
}

const QUEUE: Queue = Queue {
    pipe: 1,
    pg_id: 2,
    pg_queue: 8,
    threshold: Threshold::Static,
};

fn tail(limit_bytes: u64) -> Limit {
    Limit::DropTail { limit_bytes }
}

#[tokio::test]
async fn limits_are_cells_in_the_program_s_table() {
    let server = Server::start().await;
    let d = driver(&server, BTreeMap::new());
    assert_eq!(d.describe().driver, "bfrt");
    assert_eq!(d.read_limit(5).await.unwrap(), Limit::Unlimited);
    // 1000 cells of 80 bytes, and 7 bytes that fill no cell.
    assert_eq!(d.set_limit(5, tail(80_007)).await.unwrap(), tail(80_000));
    assert_eq!(
        server.entry("pipe.Ingress.queue_limit", &[5]),
        Some("Ingress.drop_tail(1000)".into())
    );
    assert_eq!(d.read_limit(5).await.unwrap(), tail(80_000));
    for (limit_bytes, entry) in [
        (Some(1600), "Ingress.mark_ce(10, 20)"),
        (None, "Ingress.mark_ce(10, 4294967295)"),
    ] {
        let mark = Limit::MarkCe {
            threshold_bytes: 800,
            limit_bytes,
        };
        assert_eq!(d.set_limit(5, mark).await.unwrap(), mark);
        assert_eq!(
            server.entry("pipe.Ingress.queue_limit", &[5]),
            Some(entry.into())
        );
    }
    assert_eq!(
        d.set_limit(5, Limit::Unlimited).await.unwrap(),
        Limit::Unlimited
    );
    let too_much = d.set_limit(5, tail(1 << 60)).await.unwrap_err().to_string();
    assert!(too_much.contains("does not fit 32 bits"), "{too_much}");
    assert!(server.problems().is_empty(), "{:?}", server.problems());
    let health = d.health().await;
    assert!(health.ready(), "{health:?}");
}

#[tokio::test]
async fn limits_are_queue_buffers_of_one_pipe() {
    let server = Server::start().await;
    let d = driver(&server, [(5, QUEUE)].into());
    assert_eq!(d.set_limit(5, tail(160_000)).await.unwrap(), tail(160_000));
    assert_eq!(
        server.entry("tf1.tm.queue.buffer", &[2, 8]).unwrap(),
        "shared_pool(2000, EG_APP_POOL_0, 0, DISABLE, true)"
    );
    assert_eq!(server.last_pipe(), 1);
    let e = d
        .set_limit(
            5,
            Limit::MarkCe {
                threshold_bytes: 80,
                limit_bytes: None,
            },
        )
        .await;
    let e = e.unwrap_err().to_string();
    assert!(e.contains("drop_tail only"), "{e}");
    assert!(server.problems().is_empty(), "{:?}", server.problems());
}

/// A floating limit is the bytes that the queue takes alone in its pool. It is read in any form,
/// set to the next lower factor, and read back.
#[tokio::test]
async fn limits_float_with_the_pool() {
    let server = Server::start().await;
    let fixed = driver(&server, [(5, QUEUE)].into());
    // Initial state: 100 cells of its own, and 80 % of 30 000.
    assert_eq!(fixed.read_limit(5).await.unwrap(), tail(24_100 * 80));
    let threshold = Threshold::Dynamic;
    let d = driver(&server, [(5, Queue { threshold, ..QUEUE })].into());
    // A third of the pool is 10 000 cells, 39 are the queue's own.
    let held = tail(10_039 * 80);
    assert_eq!(d.set_limit(5, tail(900_000)).await.unwrap(), held);
    assert_eq!(
        server.entry("tm.queue.buffer", &[2, 8]).unwrap(),
        "shared_pool(39, EG_APP_POOL_0, 8, 33%, true)"
    );
    assert_eq!(d.read_limit(5).await.unwrap(), held);
    server.put_pool("EG_APP_POOL_0", 60_000);
    assert_eq!(d.read_limit(5).await.unwrap(), tail(20_039 * 80));
    let e = d.set_limit(5, tail(70_000)).await.unwrap_err().to_string();
    assert!(
        e.contains("smallest dynamic limit") && e.contains("tm.pool.cfg"),
        "{e}"
    );
    // And back: a queue without a share of a pool is shown without a pool.
    assert_eq!(
        fixed.set_limit(5, tail(80_000)).await.unwrap(),
        tail(80_000)
    );
    assert_eq!(d.read_limit(5).await.unwrap(), tail(80_000));
    let entry = "shared_pool(pool_id=EG_APP_POOL_0, pool_max_cells=8, dynamic_baf=7%, \
                 guaranteed_cells=9, tail_drop_enable=true)";
    server.put("tm.queue.buffer", &[2, 8], entry);
    let e = d.read_limit(5).await.unwrap_err().to_string();
    assert!(e.contains("dynamic_baf: is not known"), "{e}");
    assert!(server.problems().is_empty(), "{:?}", server.problems());
}

#[tokio::test]
async fn a_queue_has_the_limit_of_its_own_buffer() {
    let server = Server::start().await;
    let third = Queue {
        pg_queue: 11,
        ..QUEUE
    };
    let entry = "buffer_only(guaranteed_cells=9, tail_drop_enable=false)";
    server.put("tm.queue.buffer", &[2, 11], entry);
    let queues = BTreeMap::from([("5", QUEUE), ("5:3", third)]);
    let d = bfrt_server::driver(&server.address, P4_NAME, queues).unwrap();
    let set = |queue, bytes| d.set_queue_limit(5, queue, tail(bytes));
    assert_eq!(set(0, 160_000).await.unwrap(), tail(160_000));
    assert_eq!(set(3, 8_000).await.unwrap(), tail(8_000));
    assert_eq!(d.read_limit(5).await.unwrap(), tail(160_000));
    assert_eq!(d.read_queue_limit(5, 3).await.unwrap(), tail(8_000));
    let entry = server.entry("tf1.tm.queue.buffer", &[2, 11]).unwrap();
    assert!(entry.starts_with("shared_pool(100,"), "{entry}");
    // Queue 4 has no configured buffer, and the program has limits of ports only.
    for e in [set(4, 8_000).await, d.read_queue_limit(5, 4).await] {
        let said = e.unwrap_err().to_string();
        assert!(
            said.contains("queue 4 can be neither read nor set"),
            "{said}"
        );
    }
    // A queue that the device does not have is not a queue without a limit.
    let nowhere = Queue {
        pg_queue: 31,
        ..QUEUE
    };
    let gone = driver(&server, [(5, nowhere)].into());
    for e in [
        gone.read_limit(5).await,
        gone.set_limit(5, tail(8_000)).await,
    ] {
        let said = e.unwrap_err().to_string();
        assert!(
            said.contains("queue") && said.contains("tm.port.cfg"),
            "{said}"
        );
    }
    assert!(server.problems().is_empty(), "{:?}", server.problems());
    let wrong = BTreeMap::from([("5:x", QUEUE)]);
    let e = bfrt_server::driver(&server.address, P4_NAME, wrong).err();
    assert!(
        e.unwrap()
            .to_string()
            .contains("neither a port number nor port:queue")
    );
}

fn plan() -> Provision {
    Provision {
        forward: vec![Forward {
            mac: "02:00:00:00:00:01".into(),
            port: 5,
        }],
        watch: vec![Watch {
            protocol: Some(6),
            dst: Some("10.0.0.0/8".into()),
            egress_port: Some(5),
            report: true,
            ..Watch::default()
        }],
        reports: Some(bfrt_server::reports_to(6)),
        limits: [("5".into(), tail(8_000))].into(),
        ..Provision::default()
    }
}

#[tokio::test]
async fn a_plan_is_written_and_repeated_without_harm() {
    let server = Server::start().await;
    let d = driver(&server, BTreeMap::new());
    let done = d.provision(&plan(), &|_, _| true).await.unwrap();
    assert!(!done.pushed);
    assert_eq!(done.limits[&5], tail(8_000));
    assert_eq!(
        server.entry("pipe.Ingress.l2_forward", &[0x0200_0000_0001]),
        Some("Ingress.forward(5)".into())
    );
    // Mirror header 30, Ethernet 14, IPv4 20, TCP 20.
    assert_eq!(
        server.entry("$mirror.cfg", &[3]),
        Some("$normal(true, EGRESS, 6, true, 84)".into())
    );
    assert!(server.entry("$mirror.cfg", &[12]).is_some());
    let to = server.default_of("pipe.Egress.report_to").unwrap();
    assert!(to.contains("32766, 3, 10)"), "{to}");
    assert_eq!(server.count("pipe.Ingress.watch"), 1);

    // A limit that was set meanwhile stays; nothing is written twice.
    d.set_limit(5, tail(4_000)).await.unwrap();
    let done = d.provision(&plan(), &|_, _| true).await.unwrap();
    assert_eq!(done.limits[&5], tail(4_000));
    assert_eq!(server.count("pipe.Ingress.watch"), 1);
    d.report_port(5, false).await.unwrap();
    assert_eq!(
        server.entry("pipe.Ingress.report_port", &[5]),
        Some("Ingress.report_off()".into())
    );
    assert!(server.problems().is_empty(), "{:?}", server.problems());
}

#[tokio::test]
async fn a_watch_of_ipv6_has_a_table_of_its_own() {
    let server = Server::start().await;
    let d = driver(&server, BTreeMap::new());
    let mut plan = plan();
    plan.watch[0].dst = Some("2001:db8::/32".into());
    d.provision(&plan, &|_, _| true).await.unwrap();
    let tables = ["pipe.Ingress.watch", "pipe.Ingress.watch6"];
    assert_eq!(tables.map(|t| server.count(t)), [0, 1]);
    let net = 0x2001_0db8_u128 << 96;
    let key = [net, 6, 5, 1];
    let entry = server.entry(tables[1], &key).unwrap();
    assert_eq!(entry, "Ingress.report(0)");
    // An entry without addresses applies to both families.
    plan.watch[0].dst = None;
    d.provision(&plan, &|_, _| true).await.unwrap();
    assert_eq!(tables.map(|t| server.count(t)), [1, 2]);
    plan.watch[0].src = Some("10.0.0.1".into());
    plan.watch[0].dst = Some("::1".into());
    let e = d
        .provision(&plan, &|_, _| true)
        .await
        .unwrap_err()
        .to_string();
    assert!(e.contains("watch[0].dst") && e.contains("families"), "{e}");
    assert!(server.problems().is_empty(), "{:?}", server.problems());
}

/// A controller that may not write a limit yet writes the rest, and the limit follows with the next
/// provisioning: in the program's table and in the traffic manager.
#[tokio::test]
async fn a_limit_waits_until_it_may_be_written() {
    for queues in [BTreeMap::new(), BTreeMap::from([(5, QUEUE)])] {
        let server = Server::start().await;
        let d = driver(&server, queues.clone());
        let entry = || match queues.is_empty() {
            true => server.entry("pipe.Ingress.queue_limit", &[5]),
            false => server.entry("tf1.tm.queue.buffer", &[2, 8]),
        };
        let before = entry();
        let done = d.provision(&plan(), &|_, _| false).await.unwrap();
        assert!(done.written_ports.is_empty());
        let unlimited = queues.is_empty().then_some(Limit::Unlimited);
        assert_eq!(done.limits.get(&5), unlimited.as_ref());
        assert_eq!(server.count("pipe.Ingress.watch"), 1);
        assert_eq!(entry(), before);

        let asked = std::sync::Mutex::new(Vec::new());
        let may_write = |port, limit| {
            asked.lock().unwrap().push((port, limit));
            true
        };
        let done = d.provision(&plan(), &may_write).await.unwrap();
        assert_eq!(*asked.lock().unwrap(), [(5, tail(8_000))]);
        assert_eq!(done.written_ports, [5].into());
        assert_eq!(d.read_limit(5).await.unwrap(), tail(8_000), "{queues:?}");
        assert!(server.problems().is_empty(), "{:?}", server.problems());
    }
}

#[tokio::test]
async fn the_flood_group_is_a_node_with_all_ports() {
    let server = Server::start().await;
    let d = driver(&server, BTreeMap::new());
    let flood = Provision {
        flood_ports: vec![1, 2, 132],
        ..plan()
    };
    for _ in 0..2 {
        d.provision(&flood, &|_, _| true).await.unwrap();
        let node = server.entry("$pre.node", &[1]);
        assert_eq!(node.unwrap(), "data(0, [], [1, 2, 132])");
        let group = server.entry("$pre.mgid", &[1]);
        assert_eq!(group.unwrap(), "data([1], [false], [0])");
    }
    assert!(server.problems().is_empty(), "{:?}", server.problems());
}

#[tokio::test]
async fn errors_hidden_in_good_answers_are_found() {
    let server = Server::start().await;
    let d = driver(&server, BTreeMap::new());
    d.set_limit(5, tail(800)).await.unwrap();
    server.fault(Fault::RefuseInBody);
    let e = d.set_limit(5, tail(1600)).await.unwrap_err();
    let text = e.to_string();
    assert!(matches!(e, Error::Write { .. }), "{text}");
    assert!(
        text.contains("queue_limit[port 5]") && text.contains("no space"),
        "{text}"
    );
    // Refusal as by the real driver: the call's own status says nothing.
    server.fault(Fault::Refuse(3, "SetValue failed for field:1"));
    let e = d.set_limit(5, tail(1600)).await.unwrap_err().to_string();
    for part in [
        "queue_limit[port 5]",
        "InvalidArgument",
        "field:1 (limit_cells) table:pipe.Ingress.queue_limit",
        "bf_switchd's log",
    ] {
        assert!(e.contains(part), "{part}: {e}");
    }
    server.fault(Fault::Lie);
    let e = d.set_limit(5, tail(1600)).await.unwrap_err();
    assert!(matches!(e, Error::ReadBack { .. }), "{e}");
    server.fault(Fault::ReadError);
    let e = d.read_limit(5).await.unwrap_err().to_string();
    assert!(e.contains("reading the limit of port 5"), "{e}");
    let words = "ERROR in getting value for table, field id 3";
    assert!(
        e.contains(words) && e.contains("table:pipe.Ingress.queue_limit"),
        "{e}"
    );
}

#[tokio::test]
async fn a_wrong_program_or_address_is_said_in_words() {
    let server = Server::start().await;
    let d = bfrt_server::driver(&server.address, "other", BTreeMap::<u32, _>::new()).unwrap();
    let e = d.read_limit(5).await.unwrap_err().to_string();
    assert!(e.contains("other"), "{e}");
    assert!(!d.health().await.ready());
    server.stop();
    assert!(!d.health().await.ready());
    assert!(bfrt_server::driver("not an address", "other", BTreeMap::<u32, _>::new()).is_err());
}

#[tokio::test]
async fn a_restarted_switch_is_bound_again() {
    let server = Server::start().await;
    let d = driver(&server, BTreeMap::new());
    d.set_limit(5, tail(800)).await.unwrap();
    let address = server.address.clone();
    server.stop();
    for _ in 0..100 {
        // Until the client notices the end of the stream.
        if !d.health().await.ready() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let problem = d.health().await.problem.unwrap();
    assert!(problem.contains("cannot connect"), "{problem}");
    let server = Server::start_at(&address).await;
    // The channel may take a moment to reconnect.
    for _ in 0..100 {
        if d.health().await.ready() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(d.read_limit(5).await.unwrap(), Limit::Unlimited);
    assert_eq!(server.binds(), 1);
}

/// Provisions, sets, reads back and inspects, with the descriptions of one chip.
async fn whole(tables: Tables) {
    let server = Server::of(tables).await;
    server.put_port(5, "BF_SPEED_10G", true);
    server.put_port(6, "BF_SPEED_10G", true);
    server.put_drops(5, 3);
    let queue = |threshold| Queue { threshold, ..QUEUE };
    for queues in [
        BTreeMap::new(),
        [(5, queue(Threshold::Static))].into(),
        [(5, queue(Threshold::Dynamic))].into(),
    ] {
        let d = driver(&server, queues);
        let mut plan = plan();
        plan.flood_ports = vec![5, 6];
        plan.limits = [("5".into(), tail(800_000))].into();
        for _ in 0..2 {
            d.provision(&plan, &|_, _| true).await.unwrap();
        }
        for bytes in [400_000, 1_600_000] {
            let set = d.set_limit(5, tail(bytes)).await.unwrap();
            assert_eq!(d.read_limit(5).await.unwrap(), set);
            assert!(
                set.bytes() <= Some(bytes) && set.bytes() > Some(bytes / 2),
                "{set}"
            );
        }
        assert_eq!(d.read_limit(6).await.unwrap(), Limit::Unlimited);
        let expected = tidemark_southbound::Expected {
            plan: Some(&plan),
            capacities_bps: &[(5, 10_000_000_000)],
        };
        let found = d.inspect(&expected).await;
        let wrong = |f: &&daemon_kit::doctor::Finding| f.verdict != daemon_kit::doctor::Verdict::Ok;
        assert_eq!(found.findings.iter().find(wrong), None);
        assert_eq!(found.hardware_drops_pkts, [(5, 3)].into());
    }
    assert!(server.problems().is_empty(), "{:?}", server.problems());
}

fn run(test: impl Future<Output = ()>) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(test);
}

#[tokio::test]
async fn all_works_on_the_shapes_of_the_real_driver() {
    whole(Tables::small()).await;
}

test_support::shared_data_test! {
    /// All tables of Tofino 1, as its driver describes them.
    fn all_works_on_the_whole_of_tofino_1() {
        run(async { whole(Tables::real(1)).await });
    }

    /// All tables of Tofino 2.
    fn all_works_on_the_whole_of_tofino_2() {
        run(async { whole(Tables::real(2)).await });
    }
}
