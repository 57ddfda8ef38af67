//! Random histories: much of them lawful by construction, some of it spoiled, some of it garbage.

use crate::support::{History, SCOPE, Who, make, seqs};
use handoff_ledger::event::{
    Body, ClaimFlagged, ClaimVerified, Compared, Comparison, DiscardWhy, GateDecision,
    LedgerOpened, NotProbedWhy, Policy, ProbeReceipt, PromotionRefusedWhy, Role,
};
use handoff_ledger::probe_spec::{Definition, Outcome, Probe};
use handoff_ledger::resolve::{Resolved, resolve};
use handoff_ledger::types::{Ascending, AxisName, ClaimId, Digest, PublicKey, Seq, Time};

pub(crate) const AXES: [&str; 3] = ["a", "b", "c"];
pub(crate) const CLAIMS: [&str; 5] = ["v", "w", "x", "y", "z"];
/// One step of a history: which of [`STEPS`], and where its choices come from.
pub(crate) type Step = (usize, u64);

type Act = fn(&mut Generator);
/// What may happen, as often as its weight says.
const STEPS: &[(usize, Act)] = &[
    (4, open),
    (3, run_axis),
    (5, record_axis),
    (9, verify),
    (3, verify_at_random),
    (4, flag),
    (5, promote),
    (2, promote_at_random),
    (2, refuse_promotion),
    (2, discard),
    (2, retract),
    (2, ambient),
    (4, seal),
    (1, abandon),
    (6, reverify),
    (2, gate),
    (2, revoke),
    (2, authorize),
    (2, of_the_ledger),
    (2, receipt),
    (2, disprove),
    (1, clock),
    (2, misplace),
    (1, garbage),
    (3, rarely),
];

/// How many ways [`Step::0`] may go.
pub(crate) fn ways() -> usize {
    STEPS.iter().map(|(weight, _)| weight).sum()
}

/// A history of steps.
pub(crate) fn history(policy: u8, steps: &[Step]) -> History {
    let mut history = History::with_policy(Policy {
        asserted_values: policy & 1 == 1,
        four_eyes: policy & 2 == 2,
    });
    for number in 0..2 {
        let body = make::authorized(
            Who::Extra(number).key(),
            &format!("extra-{number}"),
            &[Role::Recorder],
        );
        history.ok(Who::Root, Seq::ZERO, body);
    }
    let mut generator = Generator {
        h: history,
        entropy: 0,
        enrolled: 2,
    };
    for (which, entropy) in steps {
        if generator.h.state.undetermined().is_some() {
            // Nothing is judged or taken in any more, whatever it is.
            let body = make::opened(&[]);
            generator.h.ok(Who::Stranger, Seq::ZERO, body);
            continue;
        }
        generator.entropy = *entropy;
        let mut left = *which;
        for (weight, act) in STEPS {
            if left < *weight {
                act(&mut generator);
                break;
            }
            left -= weight;
        }
    }
    generator.h
}

struct Generator {
    h: History,
    entropy: u64,
    enrolled: u8,
}

impl Generator {
    /// A number below `bound`, by SplitMix64.
    fn below(&mut self, bound: usize) -> usize {
        self.entropy = self.entropy.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.entropy;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let bound = u64::try_from(bound).unwrap().max(1);
        usize::try_from((z ^ (z >> 31)) % bound).unwrap()
    }

    /// Once in `n` times.
    fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Clone>(&mut self, list: &[T]) -> Option<T> {
        let at = self.below(list.len());
        list.get(at).cloned()
    }

    fn claim(&mut self) -> &'static str {
        self.pick(&CLAIMS).unwrap()
    }

    fn axis_name(&mut self) -> &'static str {
        self.pick(&AXES).unwrap()
    }

    /// Mostly the value at which everything holds.
    fn value(&mut self) -> &'static str {
        if self.once_in(6) { "2" } else { "1" }
    }

    /// Someone who may open a session, or was once.
    fn recorder(&mut self) -> Who {
        let extra = Who::Extra(u8::try_from(self.below(usize::from(self.enrolled))).unwrap());
        let live: Vec<Who> = [Who::Alice, Who::Bob, Who::Carol, Who::Root, extra]
            .into_iter()
            .filter(|who| self.h.state.may_write(&who.key()))
            .filter(|who| self.h.state.keys()[&who.key()].has(Role::Recorder))
            .collect();
        self.pick(&live).unwrap_or(Who::Root)
    }

    fn open_sessions(&self) -> Vec<Seq> {
        let sessions = self.h.state.sessions().iter();
        sessions
            .filter(|(_, session)| session.is_open() && self.h.state.may_write(&session.opened.key))
            .map(|(seq, _)| *seq)
            .collect()
    }

    /// A session that goes on, opened if there is none.
    fn session(&mut self) -> Seq {
        let open = self.open_sessions();
        if let Some(session) = self.pick(&open) {
            return session;
        }
        let who = self.recorder();
        self.h.push(who, Seq::ZERO, make::opened(&[])).unwrap()
    }

    /// Mostly an event there is.
    fn any_seq(&mut self) -> Seq {
        let bound = self.h.records.len() + 3;
        Seq(u64::try_from(self.below(bound)).unwrap())
    }

    fn say(&mut self, session: Seq, body: impl Into<Body>) -> Option<Seq> {
        let who = self.h.opener(session);
        let mut body = body.into();
        if let Body::ProbeReceipt(receipt) = &mut body
            && receipt.scope == SCOPE
        {
            receipt.scope = self.h.state.sessions()[&session].opened.body.scope;
        }
        self.h.push(who, session, body).ok()
    }

    fn run(&mut self, session: Seq, probe: &Probe, value: &str) -> Option<Seq> {
        self.say(
            session,
            make::receipt(probe, make::success(probe), Some(value)),
        )
    }

    /// Axes of the lineage, or a new one where there is none.
    fn needs(&mut self, session: Seq) -> Vec<Seq> {
        let lineage = self.h.state.lineage(session);
        let axes: Vec<Seq> = (self.h.state.axes().values())
            .filter(|axis| lineage.contains(&axis.session))
            .map(|axis| axis.seq)
            .collect();
        if axes.is_empty() || self.once_in(8) {
            let name = self.axis_name();
            let receipt = self.run(session, &make::axis_probe(name), "1");
            let axis = receipt.and_then(|receipt| self.say(session, make::axis(name, receipt)));
            return axis.into_iter().collect();
        }
        let count = 1 + self.below(2);
        (0..count).filter_map(|_| self.pick(&axes)).collect()
    }

    /// Observes axes as they were recorded.
    fn observe(&mut self, session: Seq, needs: &[Seq]) {
        for axis in needs {
            let Some(axis) = self.h.state.axes().get(axis).cloned() else {
                continue;
            };
            let receipt = self.h.state.receipts()[&axis.body.receipt].body.clone();
            let value = receipt.value.clone().unwrap_or_default();
            let mut again = make::receipt(
                &receipt.probe,
                make::success(&receipt.probe),
                Some(value.as_str()),
            );
            if receipt.probe.redact() && !self.once_in(3) {
                let result = Comparison::Same;
                let axis = axis.seq;
                again.compared = vec![Compared { axis, result }];
            }
            self.say(session, again);
        }
    }

    /// A claim to derive another from, sometimes one that is not admissible.
    fn from(&mut self, session: Seq) -> Vec<ClaimId> {
        if !self.once_in(3) {
            return Vec::new();
        }
        let admissible: Vec<ClaimId> = self.h.judge(session).admissible().into_keys().collect();
        if self.once_in(4) {
            return vec![self.claim().parse().unwrap()];
        }
        self.pick(&admissible).into_iter().collect()
    }
}

fn open(g: &mut Generator) {
    let sessions: Vec<Seq> = g.h.state.sessions().keys().copied().collect();
    let inherits: Vec<Seq> = match g.below(8) {
        0 => Vec::new(),
        1 => g.pick(&sessions).into_iter().collect(),
        2 => vec![g.any_seq()],
        3 | 4 => {
            let sealed: Vec<Seq> = sessions
                .into_iter()
                .filter(|session| g.h.state.sessions()[session].is_sealed())
                .collect();
            g.pick(&sealed).into_iter().collect()
        }
        _ => g.h.state.frontier().into_iter().collect(),
    };
    let mut opened = make::opened(&inherits);
    if g.once_in(10) {
        opened.scope = Digest([8; 32]);
    }
    let who = g.recorder();
    let _ = g.h.push(who, Seq::ZERO, opened);
}

fn run_axis(g: &mut Generator) {
    let session = g.session();
    let (name, value) = (g.axis_name(), g.value());
    g.run(session, &make::axis_probe(name), value);
}

fn record_axis(g: &mut Generator) {
    let session = g.session();
    let (name, value) = (g.axis_name(), g.value());
    let probe = match g.below(8) {
        0 => make::redacted_probe(&["observe", name]),
        1 => make::native("os"),
        2 => make::command(&["echo", name], &[]),
        _ => make::axis_probe(name),
    };
    let Some(mut receipt) = g.run(session, &probe, value) else {
        return;
    };
    if g.once_in(8) {
        receipt = g.any_seq();
    }
    let mut axis = make::axis(name, receipt);
    axis.comparator = match g.below(8) {
        0 => "present".parse().unwrap(),
        1 => "one-of=1,3".parse().unwrap(),
        _ => axis.comparator,
    };
    if g.once_in(6) {
        axis.max_age_ms = Some(20_000);
    }
    g.say(session, axis);
}

/// A claim with its proof between observations of what it needs.
fn proven(g: &mut Generator, session: Seq) -> Option<ClaimVerified> {
    let claim = g.claim();
    let needs = g.needs(session);
    g.observe(session, &needs);
    let receipt = g.run(session, &make::proof_probe(claim), "ok")?;
    g.observe(session, &needs);
    let mut body = make::verified(claim, &[receipt], &needs, &[]);
    body.from = Ascending::from_unordered(g.from(session));
    Some(body)
}

fn verify(g: &mut Generator) {
    let session = g.session();
    let Some(mut claim) = proven(g, session) else {
        return;
    };
    if g.once_in(3) {
        spoil_claim(g, session, &mut claim);
    }
    g.say(session, claim);
}

fn spoil_claim(g: &mut Generator, session: Seq, claim: &mut ClaimVerified) {
    let run = |g: &mut Generator, probe: Probe, value| {
        let receipt = g.run(session, &probe, value);
        seqs(&receipt.into_iter().collect::<Vec<_>>())
    };
    match g.below(10) {
        0 => claim.needs = Ascending::default(),
        1 => claim.independent = Some(make::text("it is arithmetic")),
        2 => {
            claim.needs = Ascending::default();
            claim.independent = Some(make::text("it is arithmetic"));
        }
        3 => claim.statement = make::statement(g.claim()),
        4 => claim.receipts = run(g, make::command(&["echo"], &["value=ok"]), "ok"),
        5 => claim.receipts = run(g, make::command(&["prove"], &["exit=0"]), "ok"),
        6 => {
            let exit_only = Definition {
                exit_only: true,
                ..Definition::command(["prove".to_owned()])
            };
            claim.receipts = run(g, Probe::new(exit_only).unwrap(), "ok");
        }
        7 => claim.from = Ascending::from_unordered([claim.claim.clone()]),
        8 => {
            let _ = run(g, make::proof_probe(claim.claim.as_str()), "ok");
        }
        _ => claim.needs = seqs(&[g.any_seq()]),
    }
    if claim.receipts.is_empty() {
        claim.receipts = seqs(&[Seq(1)]);
    }
}

fn verify_at_random(g: &mut Generator) {
    let session = g.session();
    let claim = g.claim();
    let own: Vec<Seq> = (g.h.state.receipts().values())
        .filter(|receipt| receipt.session == session)
        .map(|receipt| receipt.seq)
        .collect();
    let receipt = if g.once_in(2) { g.pick(&own) } else { None };
    let receipt = receipt.unwrap_or_else(|| g.any_seq());
    let axes: Vec<Seq> = g.h.state.axes().keys().copied().collect();
    let axis = g.pick(&axes).unwrap_or_else(|| g.any_seq());
    g.say(session, make::verified(claim, &[receipt], &[axis], &[]));
}

fn flag(g: &mut Generator) {
    let session = g.session();
    let claim = g.claim();
    let mut flag = make::flagged(claim);
    if g.once_in(3) {
        let name: AxisName = g.axis_name().parse().unwrap();
        let known = match resolve(&g.h.state, session, &name) {
            Resolved::One(axis) => g.h.state.axis_identity(axis),
            Resolved::Unknown | Resolved::Ambiguous(_) => None,
        };
        let known = known.map(|(probe, comparator)| (probe, comparator.clone()));
        let mut need = make::flag_need_unknown(name.as_str());
        if let Some((probe, comparator)) = known {
            need.probe_digest = Some(probe);
            need.comparator = Some(comparator);
        }
        flag.needs = vec![need];
    } else if g.once_in(4) {
        flag.independent = Some(make::text("it is arithmetic"));
    }
    if g.once_in(4) {
        spoil_flag(g, &mut flag);
    }
    if g.once_in(4) {
        g.run(session, &make::step_probe(claim), "ok");
    }
    g.say(session, flag);
}

fn spoil_flag(g: &mut Generator, flag: &mut ClaimFlagged) {
    match g.below(9) {
        0 => flag.derivation = make::value(" "),
        1 => flag.directive.until_probe = Digest([0; 32]),
        2 => flag.directive.do_not_act_on = g.claim().parse().unwrap(),
        3 => flag.step_digest = Digest([0; 32]),
        4 => flag.statement = make::statement(g.claim()),
        5 => flag.needs = vec![make::flag_need(g.axis_name())],
        6 => {
            flag.needs = vec![make::flag_need_unknown(g.axis_name())];
            flag.independent = Some(make::text("and yet"));
        }
        7 => flag.met_by_empty = vec![true],
        _ => {
            *flag = make::flagged_step(flag.claim.as_str(), make::command(&["true"], &["value=ok"]))
        }
    }
}

fn promote(g: &mut Generator) {
    let session = g.session();
    let flags: Vec<Seq> = (g.h.state.flags().keys().copied())
        .filter(|flag| g.h.state.is_open(*flag))
        .collect();
    let Some(flag) = g.pick(&flags) else {
        return;
    };
    let flag = g.h.state.flags()[&flag].clone();
    let step = &flag.body.step;
    let early = if g.once_in(8) {
        g.run(session, step, "ok")
    } else {
        None
    };
    let mut needs = if flag.body.independent.is_some() {
        Vec::new()
    } else {
        g.needs(session)
    };
    if !g.once_in(4) {
        needs.extend(g.h.state.axes().values().filter_map(|axis| {
            let named = flag
                .body
                .needs
                .iter()
                .any(|need| need.axis == axis.body.axis);
            (named && axis.session == session).then_some(axis.seq)
        }));
    }
    g.observe(session, &needs);
    let receipt = early.or_else(|| {
        let begun = make::begun(flag.body.claim.as_str(), flag.seq, step.digest());
        let begun = g.say(session, begun);
        let mut receipt = make::receipt(step, make::success(step), Some("ok"));
        receipt.begun = begun;
        g.say(session, receipt)
    });
    let Some(receipt) = receipt else {
        return;
    };
    g.observe(session, &needs);
    let mut body = make::promoted(flag.body.claim.as_str(), flag.seq, receipt, &needs);
    body.from = Ascending::from_unordered(g.from(session));
    body.independent = flag.body.independent.clone();
    if g.once_in(10) {
        body.independent = Some(make::text("it is arithmetic"));
        body.needs = Ascending::default();
    }
    if g.once_in(8) {
        body.claim = g.claim().parse().unwrap();
    }
    g.say(session, body);
}

fn promote_at_random(g: &mut Generator) {
    let session = g.session();
    let claim = g.claim();
    let flags: Vec<Seq> = g.h.state.flags().keys().copied().collect();
    let flag = g.pick(&flags).unwrap_or_else(|| g.any_seq());
    let steps: Vec<Seq> = (g.h.state.receipts().values())
        .filter(|receipt| receipt.session == session)
        .filter(|receipt| receipt.body.probe == make::step_probe(claim))
        .map(|receipt| receipt.seq)
        .collect();
    let claim = match g.h.state.flags().get(&flag) {
        Some(flag) if flag.seq.0 % 2 == 0 => flag.body.claim.clone(),
        Some(_) | None => claim.parse().unwrap(),
    };
    let receipt = g.pick(&steps).unwrap_or_else(|| g.any_seq());
    let needs = g.needs(session);
    g.say(
        session,
        make::promoted(claim.as_str(), flag, receipt, &needs),
    );
}

fn refuse_promotion(g: &mut Generator) {
    let session = g.session();
    let flags: Vec<Seq> = g.h.state.flags().keys().copied().collect();
    let Some(flag) = g.pick(&flags) else {
        return;
    };
    let flag = g.h.state.flags()[&flag].clone();
    let value = if g.once_in(3) { "ok" } else { "bad" };
    let Some(receipt) = g.run(session, &flag.body.step, value) else {
        return;
    };
    let why = PromotionRefusedWhy::ProbeFailed;
    let body = make::promotion_refused(flag.body.claim.as_str(), flag.seq, receipt, why);
    g.say(session, body);
}

fn discard(g: &mut Generator) {
    let claim = g.claim();
    let flags: Vec<Seq> = g.h.state.flags().keys().copied().collect();
    let flag = g.pick(&flags).unwrap_or_else(|| g.any_seq());
    let told = g.h.state.flags().get(&flag).cloned();
    let mut body = make::withdrawn(claim, flag);
    if let Some(told) = &told {
        body.claim = told.body.claim.clone();
        if !g.once_in(8) {
            body.statement = told.body.statement.clone();
        }
    }
    let session = g.session();
    match g.below(5) {
        0 => {
            let _ = g.h.push(Who::Admin, Seq::ZERO, body);
        }
        1 => {
            g.say(session, make::discarded(claim, DiscardWhy::NoStep));
        }
        2 => {
            g.say(session, body);
        }
        _ => {
            let own = told.map(|told| told.session).filter(|own| {
                g.h.state
                    .sessions()
                    .get(own)
                    .is_some_and(|session| session.is_open())
            });
            g.say(own.unwrap_or(session), body);
        }
    }
}

fn retract(g: &mut Generator) {
    let session = g.session();
    let spoken: Vec<ClaimId> = g.h.state.claims().keys().cloned().collect();
    let before = proven(g, session);
    let spoken = [g.pick(&spoken), g.pick(&spoken)].into_iter().flatten();
    let mut body = make::retracted(&[g.claim()]);
    if !g.once_in(4) {
        body.claims = Ascending::from_unordered(spoken);
    }
    if let Some(before) = before.filter(|_| g.once_in(2)) {
        body.claims = Ascending::from_unordered([before.claim.clone()]);
        g.say(session, body);
        g.say(session, before);
        return;
    }
    if body.claims.is_empty() {
        return;
    }
    if g.once_in(4) {
        body.claims = Ascending::from_unordered(["nobody".parse().unwrap()]);
    }
    if g.once_in(4) {
        body.receipt = Some(g.any_seq());
    }
    g.say(session, body);
}

fn ambient(g: &mut Generator) {
    let session = g.session();
    let name = g.axis_name();
    let names: &[&str] = if g.once_in(3) { &[] } else { &[name] };
    g.say(session, make::ambient(names));
}

fn seal(g: &mut Generator) {
    let session = g.session();
    if !g.once_in(6) {
        g.say(session, make::ambient(&[]));
    }
    let mut seal = g.h.sealed(session);
    if g.once_in(8) {
        seal.counts.axes += 1;
    }
    g.say(session, seal);
}

fn abandon(g: &mut Generator) {
    let session = if g.once_in(4) {
        g.any_seq()
    } else {
        g.session()
    };
    let who = g.pick(&[Who::Admin, Who::Alice, Who::Bob]).unwrap();
    let _ = g.h.push(who, Seq::ZERO, make::abandoned(session));
}

fn reverify(g: &mut Generator) {
    let session = g.session();
    let lineage = g.h.state.lineage(session);
    let axes: Vec<Seq> = (g.h.state.axes().values())
        .filter(|axis| lineage.contains(&axis.session))
        .map(|axis| axis.seq)
        .collect();
    let mut entries = Vec::new();
    for axis in axes {
        let entry = match g.below(8) {
            0 => make::asserted(axis, g.value()),
            1 => make::not_probed(axis, NotProbedWhy::NotRun),
            2 => continue,
            _ => {
                g.observe(session, &[axis]);
                let probe = g.h.state.axis_probe(axis).unwrap();
                let Some(receipt) = g.h.state.latest_receipt(session, probe, None) else {
                    continue;
                };
                make::by_receipt(axis, receipt.seq)
            }
        };
        entries.push(entry);
    }
    if g.once_in(6) {
        entries = vec![make::by_receipt(g.any_seq(), g.any_seq())];
    } else if g.once_in(6) {
        for entry in &mut entries {
            if entry.receipt.is_some() {
                entry.receipt = Some(g.any_seq());
            }
        }
    }
    g.say(session, make::reverified(entries));
}

fn gate(g: &mut Generator) {
    let session = g.session();
    let claim = g.claim();
    let allowed = g.h.admits(session, claim) != g.once_in(4);
    let decision = if allowed {
        GateDecision::Allowed
    } else {
        GateDecision::Refused
    };
    let gate = g.say(session, make::gated(&[claim], decision));
    let gate = gate.unwrap_or_else(|| g.any_seq());
    if g.once_in(2) {
        g.say(session, make::finished(gate));
    }
    if g.once_in(3) {
        g.say(session, make::finished(gate));
    }
}

fn revoke(g: &mut Generator) {
    let extra = Who::Extra(u8::try_from(g.below(usize::from(g.enrolled) + 1)).unwrap());
    let whom = [
        Who::Alice,
        Who::Bob,
        Who::Carol,
        extra,
        extra,
        Who::Admin,
        Who::Root,
    ];
    let whom = g.pick(&whom).unwrap();
    let since = g.any_seq();
    let since = (!g.once_in(4)).then_some(since);
    let by = g
        .pick(&[Who::Root, Who::Root, Who::OtherAdmin, Who::Admin, Who::Bob])
        .unwrap();
    let _ = g.h.push(by, Seq::ZERO, make::revoked(whom.key(), since));
    need_what_is_void(g);
}

/// A claim on an inherited axis that is void, if there is one.
fn need_what_is_void(g: &mut Generator) {
    for session in g.open_sessions() {
        let lineage = g.h.state.lineage(session);
        let void =
            g.h.state
                .axes()
                .values()
                .find(|axis| lineage.contains(&axis.session) && g.h.state.is_void(axis.seq));
        let Some(axis) = void.map(|axis| axis.seq) else {
            continue;
        };
        let claim = g.claim();
        g.observe(session, &[axis]);
        let receipt = g.run(session, &make::proof_probe(claim), "ok");
        g.observe(session, &[axis]);
        let receipt = receipt.into_iter().collect::<Vec<_>>();
        if !receipt.is_empty() {
            g.say(session, make::verified(claim, &receipt, &[axis], &[]));
        }
    }
}

fn authorize(g: &mut Generator) {
    let (mut who, mut role) = (Who::Extra(g.enrolled), Role::Recorder);
    let mut label = format!("extra-{}", g.enrolled);
    let mut key = who.key();
    match g.below(10) {
        0 => key = PublicKey([0; 32]),
        1 => label = "alice".to_owned(),
        2 => role = Role::Admin,
        3 => {
            who = Who::Alice;
            key = who.key();
        }
        _ => {}
    }
    let by = g
        .pick(&[Who::Root, Who::OtherAdmin, Who::OtherAdmin, Who::Bob])
        .unwrap();
    let body = make::authorized(key, &label, &[role]);
    if g.h.push(by, Seq::ZERO, body).is_ok() && g.enrolled < 90 {
        g.enrolled += 1;
    }
}

fn of_the_ledger(g: &mut Generator) {
    let by = g.pick(&[Who::Root, Who::Root, Who::OtherAdmin]).unwrap();
    let body: Body = match g.below(6) {
        0 => make::upgraded(1, 1).into(),
        1 => LedgerOpened {
            name: "again".parse().unwrap(),
            nonce: Digest([1; 32]),
            policy: Policy {
                asserted_values: true,
                four_eyes: false,
            },
            rules: 1,
        }
        .into(),
        2 | 3 => make::acknowledged(g.any_seq()).into(),
        4 => make::erased().into(),
        _ => make::unknown("x.y", 1),
    };
    let _ = g.h.push(by, Seq::ZERO, body);
    if g.once_in(25) {
        let _ = g.h.push(Who::Root, Seq::ZERO, make::upgraded(2, 1));
    }
}

fn receipt(g: &mut Generator) {
    let session = g.session();
    let probe = make::axis_probe(g.axis_name());
    let (outcome, value) = match g.below(6) {
        0 => (Outcome::TimedOut, None),
        1 => (Outcome::Exited(3), Some("1")),
        2 => (Outcome::NotFound, None),
        _ => (Outcome::Exited(0), Some("1")),
    };
    let mut receipt: ProbeReceipt = make::receipt(&probe, outcome, value);
    match g.below(6) {
        0 => receipt.scope = Digest([0; 32]),
        1 => receipt.probe_digest = Digest([0; 32]),
        2 => {
            receipt = make::receipt(&probe, Outcome::Exited(0), Some("1"));
            receipt.outcome = Outcome::Checked;
        }
        3 => receipt.begun = Some(g.any_seq()),
        _ => {}
    }
    let seq = g.say(session, receipt);
    if let Some(seq) = seq {
        g.say(session, make::axis("a", seq));
    }
}

/// A proof that fails, and a claim that is derived from it all the same.
fn disprove(g: &mut Generator) {
    let session = g.session();
    let claim = g.claim();
    let needs = g.needs(session);
    g.observe(session, &needs);
    let receipt = g.run(session, &make::proof_probe(claim), "bad");
    if let Some(receipt) = receipt.filter(|_| g.once_in(3)) {
        g.observe(session, &needs);
        g.say(session, make::verified(claim, &[receipt], &needs, &[]));
    }
}

fn clock(g: &mut Generator) {
    let by = match g.below(5) {
        0 => 13 * 3_600_000,
        1 => -600_000,
        2 => 100_000,
        3 => -100_000,
        _ => 30_000,
    };
    g.h.now = Time::from_ms(g.h.now.ms() + by);
    if g.once_in(6) {
        let now = g.h.now;
        g.h.now = Time::from_ms(253_402_300_700_000);
        run_axis(g);
        g.h.now = now;
    }
}

/// A lawful body in a place where it does not belong.
fn misplace(g: &mut Generator) {
    let sessions: Vec<Seq> = g.h.state.sessions().keys().copied().collect();
    let session = match g.below(4) {
        0 => Seq::ZERO,
        1 => g.any_seq(),
        _ => g.pick(&sessions).unwrap_or_default(),
    };
    let everyone = [
        Who::Alice,
        Who::Bob,
        Who::Root,
        Who::Admin,
        Who::Stranger,
        Who::Extra(0),
    ];
    let who = match g.below(2) {
        0 if g.h.state.sessions().contains_key(&session) => g.h.opener(session),
        _ => g.pick(&everyone).unwrap(),
    };
    let claim = g.claim();
    let body: Body = match g.below(6) {
        0 => make::ambient(&[]).into(),
        1 => make::flagged(claim).into(),
        2 => make::discarded(claim, DiscardWhy::Redundant).into(),
        3 => make::opened(&[]).into(),
        4 => make::receipt(&make::axis_probe("a"), Outcome::Exited(0), Some("1")).into(),
        _ => make::unknown("session.opened", 3),
    };
    let _ = g.h.push(who, session, body);
}

/// References to whatever is there or is not.
fn garbage(g: &mut Generator) {
    let session = g.session();
    let claim = g.claim();
    let mut seq = || match g.below(3) {
        0 => Seq(1_000_000),
        1 => g.h.next(),
        _ => g.any_seq(),
    };
    let bodies: Vec<Body> = vec![
        make::axis("a", seq()).into(),
        make::verified(claim, &[seq(), seq()], &[seq()], &[claim]).into(),
        make::promoted(claim, seq(), seq(), &[seq()]).into(),
        make::promotion_refused(claim, seq(), seq(), PromotionRefusedWhy::ProbeFailed).into(),
        make::withdrawn(claim, seq()).into(),
        make::begun(claim, seq(), Digest([0; 32])).into(),
        make::finished(seq()).into(),
        make::reverified(vec![make::by_receipt(seq(), seq())]).into(),
    ];
    let body = g.pick(&bodies).unwrap();
    g.say(session, body);
}

/// What seldom comes about by chance.
fn rarely(g: &mut Generator) {
    let claim = g.claim();
    match g.below(5) {
        0 => {
            let who = Who::Extra(u8::try_from(g.below(usize::from(g.enrolled))).unwrap());
            let since = g.any_seq();
            let _ =
                g.h.push(Who::Root, Seq::ZERO, make::revoked(who.key(), Some(since)));
            let _ =
                g.h.push(Who::OtherAdmin, Seq::ZERO, make::revoked(who.key(), None));
        }
        1 => {
            let here = g.h.next();
            let _ = g.h.push(Who::Root, Seq::ZERO, make::acknowledged(here));
        }
        2 => {
            let who = g.recorder();
            let Ok(before) = g.h.push(who, Seq::ZERO, make::opened(&[])) else {
                return;
            };
            let receipt = g.run(before, &make::axis_probe("a"), "1");
            let axis = receipt.and_then(|receipt| g.say(before, make::axis("a", receipt)));
            g.say(before, make::ambient(&[]));
            let seal = g.h.sealed(before);
            g.say(before, seal);
            let heir = g.recorder();
            let _ = g.h.push(heir, Seq::ZERO, make::opened(&[before]));
            let _ =
                g.h.push(Who::Root, Seq::ZERO, make::revoked(who.key(), axis));
            need_what_is_void(g);
        }
        3 => {
            let session = g.session();
            let axis = g.needs(session);
            let receipt = g.run(session, &make::step_probe(claim), "ok");
            let flag = g.say(session, make::flagged(claim));
            g.observe(session, &axis);
            if let (Some(receipt), Some(flag)) = (receipt, flag) {
                g.say(session, make::promoted(claim, flag, receipt, &axis));
            }
        }
        _ => {
            let session = g.session();
            let mut flag = make::flagged(claim);
            flag.derivation = make::value(" ");
            g.say(session, flag);
        }
    }
}
