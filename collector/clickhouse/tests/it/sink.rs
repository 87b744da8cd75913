// SPDX-License-Identifier: Apache-2.0
//! Tests the sink with servers that fail in every way, counting every row.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;

use common::{Fate, Server, config, eventually, row};
use std::net::{SocketAddr, TcpListener};
use std::time::SystemTime;
use tidemark_clickhouse::{ClickHouseSink, Loss};

fn unix_s() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs()
}

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
}

/// Sends 10 000 rows to a server with these fates; all must arrive exactly once.
fn survives(fates: &[Fate]) -> (Server, tidemark_clickhouse::SinkStats) {
    let server = Server::start("127.0.0.1:0");
    server.state.lock().unwrap().fates = fates.iter().copied().collect();
    let dir = tempfile::tempdir().unwrap();
    let mut sink =
        ClickHouseSink::start(&config(server.address, dir.path()), "cafe", unix_s, false).unwrap();
    for order in 0..10_000 {
        sink.postcard(&row(order));
    }
    let stats = sink.finish();
    assert_eq!(server.rows(), 10_000, "{fates:?}");
    assert_eq!((stats.taken(), stats.inserted()), (10_000, 10_000));
    assert_eq!((stats.lost_total(), stats.spool_batches()), (0, 0));
    assert_eq!(stats.doubled(), 0);
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "only the lock stays: {left:?}");
    (server, stats)
}

#[test]
fn a_sound_server_gets_each_batch_once() {
    let (server, stats) = survives(&[]);
    let state = server.state.lock().unwrap();
    assert_eq!(state.inserts, stats.batches());
    assert_eq!((stats.retries(), stats.found()), (0, 0));
}

#[test]
fn an_answer_that_never_came_is_not_inserted_again() {
    let (server, stats) = survives(&[Fate::StoredNoAnswer]);
    let state = server.state.lock().unwrap();
    assert_eq!((stats.found(), stats.retries()), (1, 1));
    assert_eq!(state.inserts, stats.batches(), "found by counting");
    assert_eq!(state.rollups, 3, "its rollups are made again");
}

#[test]
fn a_lost_insert_is_repeated() {
    let (server, stats) = survives(&[Fate::LostNoAnswer, Fate::LostNoAnswer]);
    assert_eq!(server.state.lock().unwrap().inserts, stats.batches() + 2);
}

#[test]
fn a_token_without_rows_gets_another() {
    let (server, _) = survives(&[Fate::TokenWithoutRows]);
    let state = server.state.lock().unwrap();
    assert!(state.tokens.iter().any(|t| t.ends_with("-again")));
}

#[test]
fn a_busy_server_is_tried_again() {
    // 252 TOO_MANY_PARTS, 241 MEMORY_LIMIT_EXCEEDED.
    let (_, stats) = survives(&[Fate::Exception(252), Fate::Exception(241)]);
    assert_eq!(stats.retries(), 2);
}

#[test]
fn what_the_server_cannot_read_is_kept_and_counted() {
    let server = Server::start("127.0.0.1:0");
    server.state.lock().unwrap().fates = [Fate::Exception(117)].into();
    let dir = tempfile::tempdir().unwrap();
    let mut sink =
        ClickHouseSink::start(&config(server.address, dir.path()), "cafe", unix_s, false).unwrap();
    sink.postcard(&row(1));
    let stats = sink.finish();
    assert_eq!(stats.lost(Loss::Rejected), 1);
    let kept = std::fs::read_dir(dir.path().join("rejected"))
        .unwrap()
        .count();
    assert_eq!(kept, 1);
}

#[test]
fn a_batch_that_cannot_be_moved_away_keeps_its_room() {
    let server = Server::start("127.0.0.1:0");
    let refuse = || server.state.lock().unwrap().fates = [Fate::Exception(117)].into();
    let dir = tempfile::tempdir().unwrap();
    // A file in the place of the directory.
    std::fs::write(dir.path().join("rejected"), "").unwrap();
    let mut c = config(server.address, dir.path());
    refuse();
    let mut sink = ClickHouseSink::start(&c, "first", unix_s, false).unwrap();
    sink.postcard(&row(1));
    let stats = sink.finish();
    assert_eq!((stats.lost_total(), stats.spool_batches()), (0, 1));
    let files = std::fs::read_dir(dir.path()).unwrap();
    let bytes = files.map(|f| f.unwrap().metadata().unwrap().len()).sum();
    // Room for this batch alone.
    c.spool_max_bytes = bytes;
    refuse();
    let mut sink = ClickHouseSink::start(&c, "second", unix_s, false).unwrap();
    eventually("the batch is refused again", || {
        server.state.lock().unwrap().fates.is_empty()
    });
    sink.flush();
    sink.postcard(&row(2));
    let stats = sink.finish();
    assert_eq!(stats.lost(Loss::SpoolFull), 1);
    assert_eq!((stats.inserted(), stats.spool_batches()), (0, 1));
}

#[test]
fn rows_wait_for_a_server_that_is_away() {
    let address = free_address();
    let dir = tempfile::tempdir().unwrap();
    let mut sink =
        ClickHouseSink::start(&config(address, dir.path()), "cafe", unix_s, false).unwrap();
    for order in 0..5000 {
        sink.postcard(&row(order));
    }
    sink.flush();
    let stats = sink.stats();
    eventually("rows are spooled", || {
        stats.spool_batches() > 0 && stats.failure().is_some()
    });
    assert_eq!(stats.inserted(), 0);
    let server = Server::start(&address.to_string());
    eventually("rows arrive", || stats.inserted() == 5000);
    assert_eq!((server.rows(), stats.failure()), (5000, None));
    drop(sink);
}

#[test]
fn the_next_start_inserts_what_the_last_one_left() {
    let address = free_address();
    let dir = tempfile::tempdir().unwrap();
    let mut c = config(address, dir.path());
    c.finish_s = 0;
    let mut sink = ClickHouseSink::start(&c, "first", unix_s, false).unwrap();
    for order in 0..3000 {
        sink.postcard(&row(order));
    }
    let stats = sink.finish();
    assert_eq!((stats.inserted(), stats.lost_total()), (0, 0));
    assert!(stats.spool_batches() > 0);
    let server = Server::start(&address.to_string());
    c.finish_s = 30;
    let mut sink = ClickHouseSink::start(&c, "second", unix_s, false).unwrap();
    sink.postcard(&row(0));
    let stats = sink.finish();
    assert_eq!(stats.inserted(), 3001);
    let state = server.state.lock().unwrap();
    let of = |capture: &str| -> u64 {
        let stored = state.stored.iter();
        stored
            .filter(|(k, _)| k.1 == capture)
            .map(|(_, rows)| rows)
            .sum()
    };
    assert_eq!((of("first"), of("second")), (3000, 1));
}

#[test]
fn a_full_spool_loses_new_rows_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut c = config(free_address(), dir.path());
    c.spool_max_bytes = 20_000;
    c.finish_s = 0;
    let mut sink = ClickHouseSink::start(&c, "cafe", unix_s, false).unwrap();
    let mut order = 0;
    let stats = sink.stats();
    eventually("the spool is full", || {
        for _ in 0..2000 {
            sink.postcard(&row(order));
            order += 1;
        }
        sink.flush();
        stats.lost(Loss::SpoolFull) > 0
    });
    let stats = sink.finish();
    assert!(stats.spool_bytes() <= 20_000);
    let server = Server::start(&c.url.clone().unwrap()["http://".len()..]);
    c.finish_s = 30;
    let kept = ClickHouseSink::start(&c, "later", unix_s, false)
        .unwrap()
        .finish();
    assert_eq!(kept.inserted(), server.rows());
    assert_eq!(
        order,
        server.rows() + stats.lost(Loss::SpoolFull) + stats.lost(Loss::QueueFull)
    );
}
