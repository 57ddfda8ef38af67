//! A slice answers as the whole does, on random histories that contain every kind of event, every
//! refusal, revocations that reach back, and retractions.
//!
//! `HANDOFF_CASES` sets how many histories are tried, each then looked at from everywhere at every
//! prefix.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "helpers of tests are tests"
)]

mod generate;
mod shapes;
#[path = "../support/mod.rs"]
mod support;

use generate::{AXES, CLAIMS, Step, history, ways};
use handoff_ledger::event::{Body, KINDS};
use handoff_ledger::judge::{Asked, Judge};
use handoff_ledger::refusal::{Refusal, Rule};
use handoff_ledger::resolve::resolve;
use handoff_ledger::rules::permits;
use handoff_ledger::slice::{Question, slice};
use handoff_ledger::state::State;
use handoff_ledger::types::{AxisName, ClaimId, Seq, Time};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use support::index::MemoryIndex;
use support::{History, SCOPE};

/// How many histories are tried if nothing else is said.
const CASES: u32 = 72;
/// Most steps of a history; each makes one event or several.
const STEPS: usize = 80;

#[test]
fn a_slice_answers_as_the_whole_does() {
    let asked: Option<u32> = std::env::var("HANDOFF_CASES")
        .ok()
        .map(|cases| cases.parse().expect("HANDOFF_CASES is a number"));
    let config = Config {
        cases: asked.unwrap_or(CASES),
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let steps = vec((0..ways(), any::<u64>()), 1..=STEPS);
    let seen = RefCell::new(Seen::default());
    let strategy = (0_u8..4, steps).prop_map(|(policy, steps)| Plan { policy, steps });
    let outcome = runner.run(&strategy, |plan| {
        let history = history(plan.policy, &plan.steps);
        seen.borrow_mut().count(&history);
        check(&history, asked.is_some());
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    seen.into_inner().tell();
}

/// A history to be made.
#[derive(Debug, Clone)]
struct Plan {
    policy: u8,
    steps: Vec<Step>,
}

/// What the histories contained.
#[derive(Default)]
struct Seen {
    histories: usize,
    kinds: BTreeMap<String, usize>,
    lawful_kinds: BTreeMap<String, usize>,
    rules: BTreeMap<Rule, usize>,
    reaching_back: usize,
    retractions: usize,
    void: usize,
    admissible: usize,
    undetermined: usize,
}

impl Seen {
    fn count(&mut self, history: &History) {
        self.histories += 1;
        for event in &history.events {
            let event = event.event();
            let kind = event.body.kind().to_owned();
            *self.kinds.entry(kind.clone()).or_default() += 1;
            if let Some(refusal) = history.refusals.get(&event.seq) {
                *self.rules.entry(refusal.rule).or_default() += 1;
                continue;
            }
            *self.lawful_kinds.entry(kind).or_default() += 1;
            if let Body::KeyRevoked(body) = &event.body {
                self.reaching_back += usize::from(body.compromised_since.is_some());
            }
            if let Body::ClaimRetracted(_) = &event.body {
                self.retractions += 1;
            }
        }
        self.void += history.state.voided().len();
        self.undetermined += usize::from(history.state.undetermined().is_some());
        for session in history.state.sessions().keys() {
            self.admissible += history.judge(*session).admissible().len();
        }
    }

    fn tell(self) {
        println!("{} histories", self.histories);
        for (kind, count) in &self.kinds {
            let lawful = self.lawful_kinds.get(kind).unwrap_or(&0);
            println!("{count:8} {kind}, {lawful} of them lawful");
        }
        for (rule, count) in &self.rules {
            println!("{count:8} refused by {rule}");
        }
        println!("{:8} revocations that reach back", self.reaching_back);
        println!("{:8} retractions", self.retractions);
        println!("{:8} void events", self.void);
        println!(
            "{:8} claims admissible to a session at the end",
            self.admissible
        );
        println!("{:8} histories that end undetermined", self.undetermined);
        let missing = |found: &BTreeMap<String, usize>| {
            let missing: Vec<&str> = KINDS
                .iter()
                .copied()
                .filter(|kind| !found.contains_key(*kind))
                .collect();
            missing
        };
        assert_eq!(
            missing(&self.lawful_kinds),
            [""; 0],
            "kinds that never occurred lawfully"
        );
        let never: Vec<Rule> = Rule::ALL
            .iter()
            .copied()
            .filter(|rule| !self.rules.contains_key(rule))
            .collect();
        assert_eq!(never, [], "rules that refused nothing");
        for (what, count) in [
            ("revocations that reach back", self.reaching_back),
            ("retractions", self.retractions),
            ("void events", self.void),
            ("admissible claims", self.admissible),
            ("undetermined histories", self.undetermined),
        ] {
            assert!(count > 0, "{what}");
        }
    }
}

/// All properties at every prefix; `everywhere` looks from every session each time, else from one.
fn check(history: &History, everywhere: bool) {
    let mut index = MemoryIndex::default();
    let mut whole = State::new();
    for (count, event) in history.events.iter().enumerate() {
        judges_alike(&index, &whole, event.event());
        let refusal = history.refusals.get(&event.event().seq);
        index.add(&whole, event, refusal);
        assert_eq!(
            whole.apply(event).as_ref(),
            refusal,
            "judged once, in order"
        );
        let sessions: Vec<Option<Seq>> = (whole.sessions().keys().copied().map(Some))
            .chain([None])
            .collect();
        let last = count + 1 == history.events.len();
        for (number, session) in sessions.iter().enumerate() {
            if everywhere || last || count % sessions.len() == number {
                answers_alike(&index, &whole, *session, everywhere || last, count);
            }
        }
        lists_sessions_alike(&index, &whole, sessions[count % sessions.len()]);
    }
    assert_eq!(
        whole, history.state,
        "state at N is the fold of the first N"
    );
}

/// The slice of [`Question::of`] an event judges it as the whole does, and the index is told the same.
fn judges_alike(index: &MemoryIndex, whole: &State, event: &handoff_ledger::event::Event) {
    let part = slice(index, &Question::of(event)).unwrap();
    let (refusal, found) = (permits(whole, event).err(), permits(&part, event).err());
    let rule = |refusal: &Option<Refusal>| refusal.as_ref().map(|refusal| refusal.rule);
    assert_eq!(rule(&found), rule(&refusal), "{event:?}");
    if whole.undetermined().is_none() {
        let entry = |state| handoff_ledger::slice::entry(state, event, refusal.as_ref());
        assert_eq!(entry(&part), entry(whole), "{event:?}");
    }
}

fn answers_alike(
    index: &MemoryIndex,
    whole: &State,
    session: Option<Seq>,
    each: bool,
    count: usize,
) {
    let claims: Vec<ClaimId> = CLAIMS.iter().map(|claim| claim.parse().unwrap()).collect();
    let all = Question {
        session,
        all_claims: true,
        ..Question::default()
    };
    let part = slice(index, &all).unwrap();
    assert!(part.unfinished().eq(whole.unfinished()), "{session:?}");
    for asked in looked_at(whole, each, count) {
        let (found, expected) = (
            Judge::new(&part, session, asked),
            Judge::new(whole, session, asked),
        );
        assert_eq!(
            found.admissible(),
            expected.admissible(),
            "{session:?} {asked:?}"
        );
        assert_eq!(found.lineage(), expected.lineage());
    }
    for (number, claim) in claims.iter().enumerate() {
        let known = shown(whole, session, claim);
        let turn = each || count % claims.len() == number;
        let moments = looked_at(whole, each, count);
        if known && turn {
            claims_alike(&part, whole, session, claim, &moments);
        }
        if turn {
            let one = Question {
                session,
                claims: [claim.clone()].into(),
                ..Question::default()
            };
            claims_alike(
                &slice(index, &one).unwrap(),
                whole,
                session,
                claim,
                &moments,
            );
        }
    }
    let Some(session) = session else { return };
    for (number, name) in AXES.iter().enumerate() {
        if each || count % AXES.len() == number {
            let name: AxisName = name.parse().unwrap();
            let question = Question {
                session: Some(session),
                names: [name.clone()].into(),
                ..Question::default()
            };
            let part = slice(index, &question).unwrap();
            assert_eq!(
                resolve(&part, session, &name),
                resolve(whole, session, &name),
                "{name} in {session}"
            );
        }
    }
}

/// Whether a question for all claims is one for this: it was spoken of in the lineage or in a session
/// that is not sealed.
fn shown(whole: &State, session: Option<Seq>, claim: &ClaimId) -> bool {
    let Some(claim) = whole.claims().get(claim) else {
        return false;
    };
    let judge = Judge::new(
        whole,
        session,
        Asked::AtHead {
            time: whole.head_time().unwrap(),
        },
    );
    let supports = claim
        .supports
        .iter()
        .map(|seq| whole.supports()[seq].session);
    let flags = claim.flags.iter().map(|seq| whole.flags()[seq].session);
    let discards = claim
        .discards
        .iter()
        .map(|seq| whole.discards()[seq].session);
    supports.chain(flags).chain(discards).any(|spoken| {
        let unsealed = whole
            .sessions()
            .get(&spoken)
            .is_some_and(|session| !session.is_sealed());
        unsealed || judge.lineage().contains(&spoken)
    })
}

/// The moments that are asked about: the last event's, now, and later when much is stale.
fn moments(whole: &State) -> [Asked; 3] {
    let time = whole.head_time().unwrap();
    let later = Time::from_ms(time.ms() + 13 * 3_600_000);
    [
        Asked::AtHead { time },
        Asked::Now { time, scope: SCOPE },
        Asked::AtHead { time: later },
    ]
}

/// All moments, or one by turns.
fn looked_at(whole: &State, each: bool, count: usize) -> Vec<Asked> {
    let moments = moments(whole);
    if each {
        moments.to_vec()
    } else {
        vec![moments[count % moments.len()]]
    }
}

fn claims_alike(
    part: &State,
    whole: &State,
    session: Option<Seq>,
    claim: &ClaimId,
    moments: &[Asked],
) {
    for asked in moments.iter().copied() {
        let (found, expected) = (
            Judge::new(part, session, asked),
            Judge::new(whole, session, asked),
        );
        assert_eq!(found.barred(), expected.barred());
        assert_eq!(found.has_reverified(), expected.has_reverified());
        let (found_all, expected_all) = (found.admissible(), expected.admissible());
        assert_eq!(
            found_all.get(claim),
            expected_all.get(claim),
            "{claim} to {session:?}"
        );
        assert_eq!(
            found.claim(claim, &found_all),
            expected.claim(claim, &expected_all),
            "{claim} to {session:?} {asked:?}"
        );
        assert_eq!(part.statement(claim), whole.statement(claim));
        assert_eq!(
            part.open_flag(claim).map(|flag| flag.seq),
            whole.open_flag(claim).map(|flag| flag.seq)
        );
        let supports = whole
            .claims()
            .get(claim)
            .map(|claim| claim.supports.as_slice());
        let needs: BTreeSet<Seq> = (supports.unwrap_or_default().iter())
            .map(|seq| &whole.supports()[seq])
            .filter(|support| expected.lineage().contains(&support.session))
            .flat_map(|support| support.body.needs.clone())
            .collect();
        for axis in needs {
            assert_eq!(
                found.axis(axis),
                expected.axis(axis),
                "axis {axis} in {session:?}"
            );
        }
    }
}

fn lists_sessions_alike(index: &MemoryIndex, whole: &State, session: Option<Seq>) {
    let unsealed = |state: &State| {
        let sessions = state.sessions().iter();
        let unsealed: Vec<_> = sessions
            .filter(|(_, session)| !session.is_sealed())
            .map(|(seq, session)| (*seq, session.opened.clone(), session.end))
            .collect();
        unsealed
    };
    for question in [
        Question {
            sessions: true,
            ..Question::default()
        },
        Question {
            sessions: true,
            session,
            all_claims: true,
            ..Question::default()
        },
    ] {
        let part = slice(index, &question).unwrap();
        assert_eq!(part.frontier(), whole.frontier(), "{question:?}");
        assert_eq!(unsealed(&part), unsealed(whole), "{question:?}");
    }
}
