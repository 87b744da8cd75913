// SPDX-License-Identifier: Apache-2.0
//! A run: a controller's calls, one after the other, during faults.

use super::books::Books;
use super::controllers::{PLANNED_BYTES, PORT, TIMEOUT, driver, limit, plan};
use super::network::Network;
use super::others::{Others, highest_told, usurp};
use super::plan::{Fault, Kind, faults, quiet_ms, strike};
use super::tally::Tally;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use test_support::rng::Rng;
use tidemark_southbound::p4rt::P4Runtime;
use tidemark_southbound::{Health, Provisioned, Southbound, SwitchReader};
use tokio::time::Instant;

/// A call of the driver takes a few RPCs; provisioning more. Each ends in time.
const MOST_RPCS: u32 = 8;
const MOST_RPCS_OF_A_PLAN: u32 = 16;
/// A silently dead connection is found within 10 s and 20 s.
const RECOVERY_MS: u64 = 40_000;
/// Time without failures after that.
const WORKS_MS: u64 = 10_000;

/// A finished run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Played {
    pub(crate) digest: u64,
    pub(crate) tally: Tally,
}

struct World {
    network: Network,
    rng: Rng,
    driver: Arc<P4Runtime>,
    faults: Vec<Fault>,
    books: Arc<Mutex<Books>>,
    others: Arc<Mutex<Others>>,
    election_id: u64,
    tally: Tally,
    started: Instant,
}

impl World {
    fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    fn killed_now(&self) -> bool {
        let now_ms = self.now_ms();
        let mut killed = self.faults.iter().filter(|f| f.kind == Kind::Killed);
        killed.any(|f| (f.at_ms..f.at_ms + f.for_ms).contains(&now_ms))
    }

    fn note(&self, what: &str) {
        let text = format!("{} {what}", self.now_ms());
        if std::env::var_os("P4RUNTIME_VERBOSE").is_some() {
            println!("{text}");
        }
        self.books.lock().unwrap().note(&text);
    }

    /// Checks that somebody wrote the limit in force.
    fn hold(&self) -> Result<(), String> {
        let (switch, start) = (self.network.switch(), self.network.starts());
        let mut books = self.books.lock().unwrap();
        books.hold(start, switch.limit(PORT))
    }

    /// Makes a call, unless the controller is killed in the middle of it.
    async fn call<T: std::fmt::Debug>(
        &mut self,
        what: &str,
        most_rpcs: u32,
        call: impl Future<Output = T>,
    ) -> Result<Option<T>, String> {
        let began = Instant::now();
        let lives = match self.killed_now() {
            true => Duration::from_millis(self.rng.between(1, 60)),
            false => TIMEOUT * 100,
        };
        let answer = tokio::time::timeout(lives, call).await.ok();
        self.note(&format!("{what}: {answer:?}"));
        let took = began.elapsed();
        if took > TIMEOUT * most_rpcs {
            return Err(format!("{what} took {took:?}"));
        }
        if answer.is_none() {
            self.tally.killed += 1;
            self.driver = driver(&self.network, self.election_id);
        }
        self.hold().map_err(|e| format!("after {what}: {e}"))?;
        Ok(answer)
    }

    async fn provision(&mut self) -> Result<Option<Provisioned>, String> {
        self.books.lock().unwrap().asked(PLANNED_BYTES);
        let (d, plan) = (Arc::clone(&self.driver), plan());
        let call = d.provision(&plan, &|_, _| true);
        let answer = self.call("provision", MOST_RPCS_OF_A_PLAN, call).await?;
        if let Some(Err(e)) = &answer {
            self.tally.error(e);
        }
        let done = answer.and_then(Result::ok);
        self.tally.pushed += u32::from(done.as_ref().is_some_and(|d| d.pushed));
        Ok(done)
    }

    async fn health(&mut self) -> Result<Option<Health>, String> {
        let d = Arc::clone(&self.driver);
        let health = self.call("health", MOST_RPCS, d.health()).await?;
        if let Some(id) = health.as_ref().and_then(highest_told)
            && self.books_flipped()
        {
            // Ours arrived with a changed bit: the server remembers that one.
            let mut others = self.others.lock().unwrap();
            others.highest = others.highest.max(id);
        }
        Ok(health)
    }

    async fn set(&mut self, bytes: u64) -> Result<bool, String> {
        let start = self.network.starts();
        let usurped = self.usurped_at(start);
        self.books.lock().unwrap().asked(bytes);
        let d = Arc::clone(&self.driver);
        let call = d.set_limit(PORT, limit(bytes));
        let answer = self.call("set", MOST_RPCS, call).await?;
        let Some(result) = answer else {
            return Ok(false);
        };
        match &result {
            Err(e) => self.tally.error(e),
            Ok(found) => {
                self.tally.set += 1;
                if *found != limit(bytes) {
                    return Err(format!("{bytes} was asked for, {found} came back"));
                }
                let same = start == self.network.starts();
                if same && usurped && self.usurped_at(start) && !self.books_flipped() {
                    return Err("who is not the primary has written a limit".into());
                }
                if same {
                    self.books.lock().unwrap().written(bytes);
                }
            }
        }
        self.hold().map_err(|e| format!("after a limit: {e}"))?;
        Ok(result.is_ok())
    }

    fn usurped_at(&self, start: u64) -> bool {
        let primary = self.others.lock().unwrap().primary_at;
        // Ours may have taken over again before it was told so.
        primary.is_some_and(|(at, id)| at == start && id > self.election_id)
    }

    /// Restarts our controller with a higher election id than one that has left.
    fn take_over_again(&mut self) {
        let mut others = self.others.lock().unwrap();
        if others.highest > self.election_id && others.primary_at.is_none() {
            others.highest = others.highest.saturating_add(1);
            self.election_id = others.highest;
            self.driver = driver(&self.network, self.election_id);
        }
    }

    fn books_flipped(&self) -> bool {
        self.books.lock().unwrap().flipped
    }

    /// Does a random action of a controller.
    async fn work(&mut self) -> Result<(), String> {
        self.take_over_again();
        match self.rng.between(0, 5) {
            0 | 1 => {
                let health = self.health().await?;
                if health.is_some_and(|h| h.connected && !h.program_loaded) {
                    self.provision().await?;
                }
            }
            2 => {
                let d = Arc::clone(&self.driver);
                self.call("read", MOST_RPCS, d.read_limit(PORT)).await?;
            }
            3 => {
                let (d, on) = (Arc::clone(&self.driver), self.rng.chance(0.5));
                let call = d.report_port(PORT, on);
                self.call("reports", MOST_RPCS, call).await?;
            }
            _ => {
                let bytes = self.rng.between(20_000, 90_000);
                self.set(bytes).await?;
            }
        }
        let pause_ms = self.rng.between(50, 1_200);
        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
        Ok(())
    }

    /// After the faults everything must work, and be as planned.
    async fn works_again(&mut self) -> Result<(), String> {
        let health = self.health().await?.unwrap_or_default();
        if !health.connected || !health.primary {
            return Err(format!("after the faults: {health:?}"));
        }
        let again = self.provision().await?;
        again.ok_or("the plan cannot be written after the faults")?;
        let pushed = self.provision().await?.is_some_and(|p| p.pushed);
        if pushed {
            return Err("the program was pushed although it runs".into());
        }
        let bytes = self.rng.between(20_000, 90_000);
        if !self.set(bytes).await? {
            return Err("no limit can be written after the faults".into());
        }
        let switch = self.network.switch();
        if switch.limit(PORT) != Some(bytes) {
            let found = switch.limit(PORT);
            return Err(format!("{found:?} is in force, {bytes} was written"));
        }
        let entries = switch.entries();
        let of = |table: &str| entries.get(table).copied().unwrap_or(0);
        let counts = ["Ingress.l2_forward", "Ingress.watch", "Ingress.queue_limit"].map(of);
        if counts != [1, 1, 1] && !self.books_flipped() {
            return Err(format!("the tables hold {entries:?}"));
        }
        Ok(())
    }
}

async fn play(seed: u64) -> Result<Played, String> {
    let network = Network::new(seed);
    let faults = faults(seed);
    let quiet_ms = quiet_ms(&faults);
    let mut books = Books::new(PLANNED_BYTES);
    books.flipped = faults.iter().any(|f| matches!(f.kind, Kind::Flips(_)));
    let mut world = World {
        driver: driver(&network, 1),
        rng: Rng::of_part(seed, 3),
        books: Arc::new(Mutex::new(books)),
        others: Arc::new(Mutex::new(Others {
            primary_at: None,
            highest: 1,
        })),
        election_id: 1,
        tally: Tally::default(),
        started: Instant::now(),
        network,
        faults,
    };
    for fault in world.faults.clone() {
        let network = world.network.clone();
        match fault.kind {
            Kind::Usurper(bytes) => {
                let (books, others) = (Arc::clone(&world.books), Arc::clone(&world.others));
                tokio::spawn(usurp(network, fault, bytes, books, others));
            }
            _ => drop(tokio::spawn(strike(network, fault))),
        }
    }
    world.provision().await?.ok_or("it does not start")?;
    while world.now_ms() < quiet_ms + RECOVERY_MS {
        world.work().await?;
    }
    let found = world.network.switch().limit(PORT);
    world.books.lock().unwrap().settled(found);
    while world.now_ms() < quiet_ms + RECOVERY_MS + WORKS_MS {
        world.works_again().await?;
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    let digest = world.books.lock().unwrap().digest();
    Ok(Played {
        digest,
        tally: world.tally,
    })
}

/// Runs a seed in simulated time.
///
/// # Errors
/// The check that did not hold.
pub(crate) fn run(seed: u64) -> Result<Played, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let played = runtime.block_on(play(seed));
    played.map_err(|e| {
        let faults = faults(seed);
        format!("seed {seed}: {e}; {faults:#?}; again: P4RUNTIME_SEED={seed}")
    })
}
