// SPDX-License-Identifier: Apache-2.0
//! One run: a controller's calls, one after the other, while faults strike.

use crate::books::Books;
use crate::network::Network;
use crate::plan::{Fault, Kind, faults, quiet_ms, strike};
use crate::rng::Rng;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tidemark_southbound::p4rt::{Options, P4Runtime};
use tidemark_southbound::{
    Error, Forward, Health, Limit, Provision, Provisioned, ReportDestination, Southbound,
    SwitchReader, Watch,
};
use tokio::time::Instant;

pub(crate) const PORT: u32 = 2;
const PLANNED_BYTES: u64 = 60_000;
const TIMEOUT: Duration = Duration::from_secs(2);
/// A call of the driver is a few RPCs; provisioning is more. Each ends in time.
const MOST_RPCS: u32 = 8;
const MOST_RPCS_OF_A_PLAN: u32 = 16;
/// A connection that is dead without saying so is found within 10 s and 20 s.
const RECOVERY_MS: u64 = 40_000;
/// Then it works without a failure for so long.
const WORKS_MS: u64 = 10_000;

/// What the calls came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) set: u32,
    pub(crate) failed: u32,
    pub(crate) not_primary: u32,
    pub(crate) refused: u32,
    pub(crate) unconnected: u32,
    pub(crate) late: u32,
    pub(crate) pushed: u32,
    pub(crate) killed: u32,
}

impl Tally {
    fn error(&mut self, e: &Error) {
        self.failed += 1;
        match e {
            Error::NotPrimary { .. } => self.not_primary += 1,
            Error::Connect { .. } => self.unconnected += 1,
            Error::Write { .. } => self.refused += 1,
            Error::Rpc { code, .. } if *code == tonic::Code::DeadlineExceeded => self.late += 1,
            _ => {}
        }
    }
}

/// A run that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Played {
    pub(crate) digest: u64,
    pub(crate) tally: Tally,
}

fn plan() -> Provision {
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4src/build");
    Provision {
        p4info: Some(build.join("tidemark.p4info.txtpb")),
        program: Some(build.join("tidemark.json")),
        forward: vec![Forward {
            mac: "02:00:00:00:00:02".into(),
            port: PORT,
        }],
        watch: vec![Watch {
            dst: Some("10.0.0.0/8".into()),
            report: true,
            ..Watch::default()
        }],
        reports: Some(ReportDestination {
            port: 9,
            node_id: 10,
            src_mac: "02:00:00:00:00:51".into(),
            dst_mac: "02:00:00:00:00:52".into(),
            src_ip: [10, 9, 0, 1].into(),
            dst_ip: [10, 9, 0, 2].into(),
            udp_port: 32_766,
            source_port_bits: 2,
        }),
        limits: [(PORT.to_string(), limit(PLANNED_BYTES))].into(),
        ..Provision::default()
    }
}

fn limit(limit_bytes: u64) -> Limit {
    Limit::DropTail { limit_bytes }
}

fn driver(network: &Network, election_id: u64) -> Arc<P4Runtime> {
    let options = Options {
        address: "http://simulated:1".into(),
        election_id,
        timeout: TIMEOUT,
        ..Options::default()
    };
    let network = network.clone();
    let connect = move |_| network.clone().connect();
    let made = P4Runtime::over(options, |endpoint| {
        endpoint.connect_with_connector_lazy(tower::service_fn(connect))
    });
    Arc::new(made.unwrap())
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

/// Who has taken over.
struct Others {
    /// The start of the switch at which somebody else is the primary now, and its id.
    primary_at: Option<(u64, u64)>,
    /// The highest election id that anybody had. As P4Runtime asks for, the server
    /// remembers it: when its primary goes, nobody with a lower one takes its place.
    highest: u64,
}

/// One who takes over, writes a limit, and goes.
async fn usurp(
    network: Network,
    fault: Fault,
    bytes: u64,
    books: Arc<Mutex<Books>>,
    others: Arc<Mutex<Others>>,
) {
    tokio::time::sleep(Duration::from_millis(fault.at_ms)).await;
    let election_id = {
        let mut others = others.lock().unwrap();
        others.highest += 1;
        others.highest
    };
    let other = driver(&network, election_id);
    if !other.health().await.ready() {
        return;
    }
    others.lock().unwrap().primary_at = Some((network.starts(), election_id));
    books.lock().unwrap().asked(bytes);
    if other.set_limit(PORT, limit(bytes)).await.is_ok() {
        books.lock().unwrap().written(bytes);
    }
    tokio::time::sleep(Duration::from_millis(fault.for_ms)).await;
    others.lock().unwrap().primary_at = None;
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

    /// What is in force was written by somebody.
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
        let call = d.provision(&plan);
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
        self.call("health", MOST_RPCS, d.health()).await
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

    /// Who set a higher election id has gone: ours is started with a higher one.
    fn take_over_again(&mut self) {
        let mut others = self.others.lock().unwrap();
        if others.highest > self.election_id && others.primary_at.is_none() {
            others.highest += 1;
            self.election_id = others.highest;
            self.driver = driver(&self.network, self.election_id);
        }
    }

    fn books_flipped(&self) -> bool {
        self.books.lock().unwrap().flipped
    }

    /// What a controller does now and then.
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

    /// After the faults all works, and all is as planned.
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
        rng: Rng::of(seed, 3),
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

/// Runs a seed in its own time.
///
/// # Errors
/// What did not hold.
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
