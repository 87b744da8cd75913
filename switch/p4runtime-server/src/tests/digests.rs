// SPDX-License-Identifier: Apache-2.0
use super::*;

const SECOND: i64 = 1_000_000_000;

fn digests(config: Config) -> Digests {
    let gatherer = Gatherer {
        id: 7,
        layout: Some(Layout::Bits(16)),
        config: None,
        pending: Vec::new(),
        pending_since: None,
        known: HashSet::new(),
        unacked: VecDeque::new(),
        next_list: 1,
    };
    let mut d = Digests {
        by_name: HashMap::from([("d".to_owned(), gatherer)]),
    };
    d.configure(&BTreeMap::from([(7, config)]));
    d
}

fn config(max_timeout_ns: i64, max_list_size: i32, ack_timeout_ns: i64) -> Config {
    Config {
        max_timeout_ns,
        max_list_size,
        ack_timeout_ns,
    }
}

fn ack(list_id: u64) -> p4::DigestListAck {
    p4::DigestListAck {
        digest_id: 7,
        list_id,
    }
}

#[test]
fn each_message_at_once() {
    let mut d = digests(config(0, 0, 0));
    let now = Instant::now();
    for list_id in 1..=2 {
        let l = d.message("d", &[1, 2], now).unwrap().unwrap();
        assert_eq!((l.digest_id, l.list_id, l.data.len()), (7, list_id, 1));
    }
    assert!(d.message("d", &[1], now).is_err(), "malformed");
    assert!(d.message("other", &[1, 2], now).unwrap().is_none());
    d.configure(&BTreeMap::new());
    assert!(
        d.message("d", &[1, 2], now).unwrap().is_none(),
        "not configured"
    );
}

#[test]
fn lists_fill_up_or_grow_old() {
    let mut d = digests(config(SECOND, 3, 0));
    let now = Instant::now();
    assert!(d.message("d", &[0, 1], now).unwrap().is_none());
    assert!(
        d.message("d", &[0, 1], now).unwrap().is_none(),
        "the same again"
    );
    assert!(d.message("d", &[0, 2], now).unwrap().is_none());
    assert_eq!(d.message("d", &[0, 3], now).unwrap().unwrap().data.len(), 3);
    assert_eq!(d.next_deadline(), None);
    assert!(d.message("d", &[0, 1], now).unwrap().is_none());
    let at = d.next_deadline().unwrap();
    assert_eq!(at, now + Duration::from_secs(1));
    assert!(d.due(now).is_empty());
    assert_eq!(d.due(at)[0].data.len(), 1);
    assert!(d.due(at).is_empty());
}

#[test]
fn what_was_sent_is_no_news_until_acknowledged() {
    let mut d = digests(config(0, 1, 10 * SECOND));
    let now = Instant::now();
    assert!(d.message("d", &[0, 1], now).unwrap().is_some());
    assert!(d.message("d", &[0, 1], now).unwrap().is_none());
    assert!(d.ack(&ack(9)), "of no list: nothing happens");
    assert!(d.message("d", &[0, 1], now).unwrap().is_none());
    assert!(d.ack(&ack(1)));
    assert!(d.message("d", &[0, 1], now).unwrap().is_some());
    let later = now + Duration::from_secs(10);
    assert!(d.message("d", &[0, 1], later).unwrap().is_some(), "timeout");
    assert!(!d.ack(&p4::DigestListAck::default()));
}
