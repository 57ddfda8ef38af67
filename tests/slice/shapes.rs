//! Shapes of history that random ones do not reach.

use crate::support::index::MemoryIndex;
use crate::support::{History, Who, make};
use handoff_ledger::event::{Body, NotProbedWhy, PromotionRefusedWhy};
use handoff_ledger::judge::{Asked, Judge};
use handoff_ledger::refusal::Rule;
use handoff_ledger::resolve::{Resolved, resolve};
use handoff_ledger::slice::{Question, slice};
use handoff_ledger::types::Seq;
use handoff_ledger::verdict::Reason;

/// How many claims are derived one from the other.
const LINKS: usize = 400;
/// A stack that following them by recursion would not fit.
const STACK_BYTES: usize = 256 * 1024;

#[test]
fn a_long_derivation_needs_no_deep_stack() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    h.verify(session, "c0", &[axis]);
    let receipt = h.run(session, &make::command(&["prove"], &["value=ok"]), "ok");
    h.observe(session, "a", "1");
    for link in 1..=LINKS {
        let before = format!("c{}", link - 1);
        let claim = format!("c{link}");
        let body = make::verified(&claim, &[receipt], &[axis], &[&before]);
        h.say(session, body);
    }
    let last = format!("c{LINKS}").parse().unwrap();
    let question = Question {
        session: Some(session),
        claims: [last].into(),
        ..Question::default()
    };
    let admissible = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let part = slice(&MemoryIndex::of(&h), &question).unwrap();
            let asked = Asked::AtHead { time: h.now };
            Judge::new(&part, Some(session), asked).admissible().len()
        })
        .unwrap()
        .join()
        .unwrap();
    assert_eq!(admissible, LINKS + 1);
}

#[test]
fn what_is_not_there_is_cited_in_vain() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let nowhere = Seq(1_000_000);
    let here = h.next();
    for seq in [nowhere, here] {
        let index = MemoryIndex::of(&h);
        let why = PromotionRefusedWhy::ProbeFailed;
        let bodies: [Body; 5] = [
            make::axis("a", seq).into(),
            make::verified("c", &[seq], &[seq], &[]).into(),
            make::promotion_refused("c", seq, seq, why).into(),
            make::finished(seq).into(),
            make::withdrawn("c", seq).into(),
        ];
        for body in bodies {
            let event = h.draft(Who::Alice, session, body);
            let part = slice(&index, &Question::of(&event)).unwrap();
            let refusal = handoff_ledger::rules::permits(&part, &event).unwrap_err();
            assert_eq!(refusal.rule, Rule::DanglingReference, "{event:?}");
        }
    }
}

#[test]
fn a_refused_event_that_cites_what_is_not_there_may_itself_be_cited() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let refused = h.next();
    h.say_refused(session, make::axis("a", Seq(1_000_000)));
    let index = MemoryIndex::of(&h);
    let body = make::reverified(vec![make::by_receipt(refused, refused)]);
    let event = h.draft(Who::Alice, session, body);
    let part = slice(&index, &Question::of(&event)).unwrap();
    let refusal = handoff_ledger::rules::permits(&part, &event).unwrap_err();
    assert_eq!(refusal.rule, Rule::DanglingReference);
}

#[test]
fn a_slice_does_not_grow_with_the_chain() {
    let mut h = History::new();
    let session = h.open(Who::Alice);
    let axis = h.axis(session, "a", "1");
    h.verify(session, "c", &[axis]);
    let read = |h: &History| {
        let index = MemoryIndex::of(h);
        let question = Question {
            session: Some(session),
            claims: ["c".parse().unwrap()].into(),
            ..Question::default()
        };
        slice(&index, &question).unwrap();
        index.read.get()
    };
    let before = read(&h);
    for other in 0..40 {
        let stranger = h.open(Who::Bob);
        let axis = h.axis(stranger, "b", "1");
        h.verify(stranger, &format!("d{other}"), &[axis]);
        h.seal(stranger);
        h.observe(session, "a", "1");
    }
    assert_eq!(read(&h), before);
}

#[test]
fn a_slice_holds_the_records_before_a_void_one() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let first = h.axis(alice, "a", "1");
    let second = h.axis(alice, "a", "2");
    h.seal(alice);
    let bob = h.open_on(Who::Bob, &[alice]);
    let resolved = |h: &History| {
        let question = Question {
            session: Some(bob),
            names: ["a".parse().unwrap()].into(),
            ..Question::default()
        };
        let part = slice(&MemoryIndex::of(h), &question).unwrap();
        let name = "a".parse().unwrap();
        let found = resolve(&part, bob, &name);
        assert_eq!(found, resolve(&h.state, bob, &name));
        found
    };
    assert_eq!(resolved(&h), Resolved::One(second));
    h.revoke(Who::Alice, Some(second));
    assert_eq!(resolved(&h), Resolved::One(first));
}

#[test]
fn a_slice_holds_why_an_axis_was_not_probed() {
    let mut h = History::new();
    let alice = h.open(Who::Alice);
    let axis = h.axis(alice, "a", "1");
    h.verify(alice, "c", &[axis]);
    h.seal(alice);
    let bob = h.open_on(Who::Bob, &[alice]);
    let entry = make::not_probed(axis, NotProbedWhy::NotRun);
    h.say(bob, make::reverified(Vec::new()));
    h.say(bob, make::reverified(vec![entry]));
    let question = Question {
        session: Some(bob),
        claims: ["c".parse().unwrap()].into(),
        ..Question::default()
    };
    let part = slice(&MemoryIndex::of(&h), &question).unwrap();
    let judge = Judge::new(&part, Some(bob), Asked::AtHead { time: h.now });
    assert_eq!(judge.axis(axis).reason, Some(Reason::NotRun));
}

#[test]
fn a_slice_tells_what_is_inherited_already_beside_what_is_not() {
    let mut h = History::new();
    let mut sealed = Vec::new();
    for _ in 0..3 {
        let before: Vec<Seq> = sealed.last().copied().into_iter().collect();
        let session = h.open_on(Who::Alice, &before);
        h.axis(session, "a", "1");
        h.seal(session);
        sealed.push(session);
    }
    let session = h.open_on(Who::Bob, &sealed[..1]);
    let question = Question {
        sessions: true,
        session: Some(session),
        ..Question::default()
    };
    let part = slice(&MemoryIndex::of(&h), &question).unwrap();
    assert_eq!(part.frontier(), [sealed[2]].into());
}
