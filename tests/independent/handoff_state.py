"""Sections 8 to 11 of ledger-format.md: what the events of a ledger amount to. For
handoff_verify.py, which says more."""
from collections import defaultdict
from types import SimpleNamespace

from handoff_format import (
    KINDS,
    RECORDS,
    canonical,
    contradicts_itself,
    expected_exit,
    finished,
    is_constant,
    probe_digest,
    public_key,
    satisfies,
    sha256,
    shown,
    shown_by,
    successful,
    told,
)

ENDLESS = float("inf")
SUPPORTS_MAX, WEIGHT_MAX = 8, 2048
NO_SESSION = {"ledger.opened", "ledger.upgraded", "key.authorized", "key.revoked", "session.opened",
              "session.abandoned", "capture.erased", "event.acknowledged"}
ADMIN = NO_SESSION - {"ledger.opened", "session.opened", "session.abandoned"}
NEVER_VOID = ADMIN - {"capture.erased"} | {"ledger.opened"}
CITED = {"axis.recorded": ["receipt"], "claim.verified": ["receipts", "needs"],
         "claim.promoted": ["flag", "receipt", "needs"], "claim.retracted": ["receipt"],
         "claim.promotion_refused": ["flag", "receipt"], "claim.discarded": ["flag"],
         "probe.begun": ["flag"]}
# Section 11: the lists of a boundary record that hold bodies as they are.
LISTS = {"ambient": "ambient.declared", "begun": "probe.begun", "discards": "claim.discarded",
         "flags": "claim.flagged", "gates": "action.gated", "receipts": "probe.receipt",
         "promotions_refused": "claim.promotion_refused", "retractions": "claim.retracted",
         "reverified": "boundary.reverified"}


def is_sealed(session):
    return session.end is not None and session.end.kind == "session.sealed"


class Ledger:
    def __init__(self):
        self.lawful, self.of, self.sessions = {}, defaultdict(list), {}
        self.keys, self.labels, self.root, self.revoked, self.void = {}, set(), None, {}, set()
        self.supports, self.flags, self.ids = defaultdict(list), defaultdict(list), defaultdict(set)
        self.refused, self.undetermined, self.acknowledged = [], False, -1
        self.wrong_seals = defaultdict(int)

    def take(self, event):
        """Judges an event on the state before it, and takes it in or refuses it."""
        if self.undetermined:
            return
        broken = next((rule for rule, is_broken in self.rules(event) if is_broken), None)
        if broken:
            self.refused.append((event.seq, broken))
            self.wrong_seals[event.session] += broken == "boundary"
            return
        body, session = event.body, self.sessions.get(event.session)
        self.lawful[event.seq] = event
        self.of[event.kind].append(event)
        if session:
            session.of[event.kind].append(event)
        match event.kind:
            case "ledger.opened":
                self.root, self.policy = event.key, body["policy"]
                self.undetermined = body["rules"] > 1
                self.keys[event.key], self.labels = ["admin", "recorder"], {body["name"]}
            case "ledger.upgraded":
                self.undetermined = True  # rules and v were 1, and one of them is larger now
            case "key.authorized":
                self.keys[body["key"]] = body["roles"]
                self.labels.add(body["label"])
            case "key.revoked":
                self.revoked[body["key"]] = body
                self.void.clear()
                for earlier in self.lawful.values():
                    self.mark_if_void(earlier)
            case "session.opened":
                inherited = [self.sessions[each].lineage for each in body["inherits"]]
                self.sessions[event.seq] = SimpleNamespace(
                    seq=event.seq, opened=event, key=event.key, end=None, of=defaultdict(list),
                    receipts=defaultdict(list), lineage={event.seq}.union(*inherited))
            case "probe.receipt":
                session.receipts[body["probe_digest"]].append(event)
            case "session.sealed":
                session.end = event
            case "session.abandoned":
                self.sessions[body["session"]].end = event
            case "event.acknowledged":
                self.acknowledged = max(self.acknowledged, body["up_to"])
            case "claim.verified" | "claim.promoted":
                event.receipts = body.get("receipts") or [body["receipt"]]
                flag = self.lawful[body["flag"]].body if "flag" in body else body
                event.statement = flag["statement"]
                event.bound = {each: self.statement_of(each) for each in body["from"]}
                self.supports[body["claim"]].append(event)
                self.ids[event.statement].add(body["claim"])
            case "claim.flagged":
                event.statement = body["statement"]
                self.flags[body["claim"]].append(event)
                self.ids[event.statement].add(body["claim"])
        self.mark_if_void(event)

    def mark_if_void(self, event):
        cited = [event.body.get(name, []) for name in CITED.get(event.kind, [])]
        cited = {seq for each in cited for seq in (each if isinstance(each, list) else [each])}
        since = self.revoked.get(event.key, {}).get("compromised_since", ENDLESS)
        if event.kind not in NEVER_VOID and (since <= event.seq or cited & self.void):
            self.void.add(event.seq)

    # Section 8: what the rules ask of a state.
    def get(self, kind, seq):
        event = self.lawful.get(seq)
        return event if event and event.kind == kind else None

    def get_axis(self, seq):
        return self.get("axis.recorded", seq)

    def unvoided(self, events):
        return [each for each in events if each.seq not in self.void]

    def open_flag(self, claim):
        flag = max(self.unvoided(self.flags[claim]), key=lambda flag: flag.seq, default=None)
        named = [each.body.get("flag") for each in self.unvoided(self.of["claim.discarded"])
                 if each.body["claim"] == claim]
        return flag if flag and flag.seq not in named else None

    def open_flags(self, claim, statement):
        """The open flags of an id and of a statement."""
        others = [self.open_flag(each) for each in self.ids[statement]]
        return [flag for flag in [self.open_flag(claim)] if flag] + [
            flag for flag in others if flag and flag.statement == statement]

    def statement_of(self, claim):
        flag = self.open_flag(claim)
        said = self.unvoided(self.supports[claim]) + ([flag] if flag else [])
        return min(said, key=lambda each: each.seq).statement if said else None

    def retracted_at(self, claim):
        retractions = self.of["claim.retracted"]
        return max((each.seq for each in retractions if claim in each.body["claims"]), default=-1)

    def latest(self, digest, session, up_to=ENDLESS):
        receipts = self.sessions[session].receipts[digest]
        return next((each for each in reversed(receipts) if each.seq <= up_to), None)

    def is_ambient(self, name, session):
        declared = self.unvoided(self.sessions[session].of["ambient.declared"])
        return any(entry["name"] == name for each in declared for entry in each.body["entries"])

    def spoken_of(self):
        return {claim for kind in KINDS if kind.startswith("claim.") for each in self.of[kind]
                for claim in each.body.get("claims") or [each.body["claim"]]}

    def supports_in(self, session):
        return session.of["claim.verified"] + session.of["claim.promoted"]

    def needing(self, session, axis):
        supports = self.supports_in(session)
        return {each.body["claim"] for each in supports if axis in each.body["needs"]}

    def resolve(self, name, session):
        """The axes that a name may mean in a session: none, one, or several if it is ambiguous."""
        newest = {axis.session: axis for axis in self.unvoided(self.of["axis.recorded"])
                  if axis.body["axis"] == name and axis.session in session.lineage}
        left = [axis for axis in newest.values() if not any(
            axis.session in self.sessions[each].lineage for each in newest if each != axis.session)]
        said = {(axis.receipt["probe_digest"], axis.body["comparator"], axis.receipt.get("value"),
                 axis.receipt.get("redacted", {}).get("commitment")) for axis in left}
        return left if len(said) > 1 else left[-1:]

    # Section 9.
    def rules(self, e):
        """The rules that an event is judged by, in order, each with whether it is broken."""
        b, kind, signer, here = e.body, e.kind, self.keys.get(e.key), self.sessions.get(e.session)
        if kind == "ledger.opened":
            yield "already_opened", self.root is not None or e.seq != 0
        else:
            yield "key_not_authorized", signer is None
            yield "key_revoked", e.key in self.revoked
            yield "kind_not_allowed", e.v != 1 or kind not in KINDS
            by_admin = kind in ADMIN or kind == "claim.discarded" and e.session == 0
            yield "role", kind != "session.abandoned" and (
                "admin" if by_admin else "recorder") not in signer
        yield "session", kind != "claim.discarded" and (e.session == 0) != (kind in NO_SESSION)
        if e.session:
            yield "session_unknown", here is None
            yield "session_key", here.key != e.key
            yield "session_ended", here.end is not None and kind != "action.finished"
        by_root = e.key == self.root
        match kind:
            case "ledger.upgraded":
                yield "root_only", not by_root
                yield "upgrade_lowers", b["rules"] == b["v"] == 1
            case "key.authorized":
                yield "root_only", "admin" in b["roles"] and not by_root
                yield "key_already_authorized", b["key"] in self.keys
                yield "key_weak", public_key(b["key"]) is None
                yield "label_in_use", b["label"] in self.labels
            case "key.revoked":
                yield "key_unknown", b["key"] not in self.keys
                yield "root_irrevocable", b["key"] == self.root
                yield "root_only", "admin" in self.keys[b["key"]] and not by_root
                since, before = b.get("compromised_since", -1), self.revoked.get(b["key"])
                yield "compromised_since", since > e.seq or before is not None and not by_root and (
                    not -1 < since < before.get("compromised_since", -1))
            case "session.opened":
                for each in map(self.sessions.get, b["inherits"]):
                    yield "session_unknown", each is None
                    yield "inherits_unsealed", not is_sealed(each)
            case "session.sealed":
                yield "ambient_undeclared", not here.of["ambient.declared"]
                said = {kind for kind, events in here.of.items() if events}
                yield "nothing_to_seal", not here.opened.body["inherits"] and len(said) == 1
                yield "boundary", self.wrong_seals[e.session] >= 8 or (
                    (b["boundary_digest"], b["counts"]) != self.boundary(here))
            case "session.abandoned":
                ended = self.sessions.get(b["session"])
                yield "session_unknown", ended is None
                yield "session_key", ended.key != e.key and "admin" not in signer
                yield "session_ended", ended.end is not None
            case "event.acknowledged":
                yield "root_only", not by_root
                yield "acknowledges_ahead", b["up_to"] >= e.seq
            case "probe.begun":
                flag = self.get("claim.flagged", b["flag"])
                yield "dangling_reference", flag is None
                yield "flag_not_open", self.open_flag(flag.body["claim"]) is not flag
                yield "flag_statement", b["claim"] != flag.body["claim"] and (
                    self.statement_of(b["claim"]) != flag.statement)
                yield "probe_digest", b["probe_digest"] != flag.body["step_digest"]
            case "probe.receipt":
                digest = b["probe_digest"]
                yield "probe_digest", digest != probe_digest(b["probe"])
                yield "scope", b["scope"] != here.opened.body["scope"]
                begun = self.get("probe.begun", b.get("begun"))
                yield "dangling_reference", "begun" in b and (begun is None or (
                    begun.session, begun.body["probe_digest"]) != (e.session, digest))
                axes = [self.get_axis(each["axis"]) for each in b["compared"]]
                yield "dangling_reference", any(
                    axis is None or axis.receipt["probe_digest"] != digest for axis in axes)
                yield "receipt_shape", contradicts_itself(b)
            case "axis.recorded":
                yield from self.evidence(e, b["receipt"])
                e.receipt = self.lawful[b["receipt"]].body
                probe = e.receipt["probe"]
                yield "vacuous", is_constant(probe)
                yield "redacted_comparator", probe["redact"] and b["comparator"] != "exact"
                yield "comparator", "redacted" not in e.receipt and not satisfies(
                    e.receipt.get("value"), b["comparator"], e.receipt)
            case "ambient.declared":
                needed = {self.lawful[seq].body["axis"] for each in self.supports_in(here)
                          for seq in each.body["needs"]}
                yield "ambient_load_bearing", any(entry["name"] in needed for entry in b["entries"])
            case "boundary.reverified":
                for entry in b["entries"]:
                    axis, receipt = self.get_axis(entry["axis"]), entry.get("receipt")
                    yield "dangling_reference", axis is None
                    yield "axis_not_in_lineage", axis.session not in here.lineage
                    receipt = self.get("probe.receipt", receipt) if "receipt" in entry else axis
                    yield "reverified_receipt", "receipt" in entry and (
                        receipt is None or (receipt.session, receipt.body["probe_digest"])
                        != (e.session, axis.receipt["probe_digest"]))
            case "action.gated":
                allowed = self.admissible(here, e.time, b["claims"]).issuperset(b["claims"])
                yield "gate_decision", b["decision"] != ("allowed" if allowed else "refused")
            case "action.finished":
                gate = self.get("action.gated", b["gate"])
                yield "dangling_reference", gate is None or gate.session != e.session
                yield "gate_finished", gate.body["decision"] == "refused" or any(
                    each.body["gate"] == gate.seq for each in self.of["action.finished"])
            case "claim.verified":
                claim, statement, receipts = b["claim"], b["statement"], b["receipts"]
                yield "statement_changed", self.statement_of(claim) not in (None, statement)
                yield "open_flag", self.open_flags(claim, statement) != []
                for seq in receipts:
                    yield from self.evidence(e, seq)
                    yield "vacuous", is_constant(self.lawful[seq].body["probe"])
                yield "no_expectation", all(
                    shown_by(self.lawful[seq].body) == "nothing" for seq in receipts)
                yield from self.support(e, here, receipts)
            case "claim.flagged":
                claim, statement, step = b["claim"], b["statement"], b["step"]
                yield "statement_changed", self.statement_of(claim) not in (None, statement)
                yield "open_flag", any(
                    flag.session != e.session for flag in self.open_flags(claim, statement))
                yield "no_derivation", b["derivation"].strip(" \t\n\v\f\r") == ""
                yield "probe_digest", b["step_digest"] != probe_digest(step)
                by_empty = b["met_by_empty"]
                yield "receipt_shape", any(told(each, step) not in (None, said)
                                           for each, said in zip(step["expect"], by_empty))
                yield "vacuous", shown(step, [(True, each) for each in by_empty]) == "nothing"
                yield "directive", b["directive"] != {
                    "do_not_act_on": claim, "until_probe": b["step_digest"]}
                yield "needs_contradict", b["needs"] != [] and "independent" in b
                for need in b["needs"]:
                    axes = self.resolve(need["axis"], here)
                    yield "flag_needs", len(axes) > 1 or (
                        need.get("probe_digest"), need.get("comparator")) != (
                        (axes[0].receipt["probe_digest"], axes[0].body["comparator"]) if axes
                        else (None, None))
                asked = {claim} | {each for each in self.ids[statement]
                                   if self.statement_of(each) == statement}
                yield "already_admissible", not asked.isdisjoint(
                    self.admissible(here, e.time, asked))
            case "claim.discarded" if b["why"] != "withdrawn":
                yield "session", e.session == 0
            case "claim.discarded":
                flag = self.get("claim.flagged", b["flag"])
                yield "dangling_reference", flag is None
                yield "flag_not_open", self.open_flag(b["claim"]) is not flag
                yield "flag_statement", flag.statement != b["statement"]
                yield "flag_owner", e.session not in (0, flag.session)
            case "claim.promoted" | "claim.promotion_refused":
                flag, promoted = self.get("claim.flagged", b["flag"]), kind == "claim.promoted"
                yield "dangling_reference", flag is None
                yield "flag_not_open", self.open_flag(flag.body["claim"]) is not flag
                yield "flag_statement", self.statement_of(b["claim"]) != flag.statement
                yield from (self.evidence if promoted else self.own_receipt)(e, b["receipt"])
                receipt = self.lawful[b["receipt"]].body
                yield "probe_digest", receipt["probe_digest"] != flag.body["step_digest"]
                yield "receipt_before_flag", b["receipt"] <= flag.seq
                fails = shown_by(receipt) == "nothing" or not successful(receipt)
                if promoted:
                    yield "no_expectation", fails
                    yield from self.promotion(e, flag)
                    yield from self.support(e, here, [b["receipt"]])
                else:
                    yield "promotion_refused_why", (b["why"] == "probe_failed") != fails
            case "claim.retracted":
                yield "claim_unknown", not self.spoken_of().issuperset(b["claims"])
                yield from self.own_receipt(e, b["receipt"]) if "receipt" in b else ()

    def own_receipt(self, e, seq):
        receipt = self.get("probe.receipt", seq)
        yield "dangling_reference", receipt is None
        yield "receipt_session", receipt.session != e.session

    def evidence(self, e, seq):
        yield from self.own_receipt(e, seq)
        yield "void", seq in self.void
        yield "receipt_failed", not successful(self.lawful[seq].body)

    def promotion(self, e, flag):
        axes = [axis for axis in map(self.get_axis, e.body["needs"]) if axis]
        names = {axis.body["axis"] for axis in axes}
        probes = {(axis.receipt["probe_digest"], axis.body["comparator"]) for axis in axes}
        yield "independence_not_flagged", "independent" in e.body and "independent" not in flag.body
        yield "flag_needs_missing", not all(
            (need["probe_digest"], need["comparator"]) in probes if "comparator" in need
            else need["axis"] in names for need in flag.body["needs"])
        yield "four_eyes", self.policy["four_eyes"] and any(
            each.key == e.key for claim in self.ids[flag.statement] for each in self.flags[claim])

    def support(self, e, here, receipts):
        claim, needs = e.body["claim"], e.body["needs"]
        yield "needs_missing", needs == [] and "independent" not in e.body
        yield "needs_contradict", needs != [] and "independent" in e.body
        for seq in receipts:
            yield from self.own_receipt(e, seq)
            digest = self.lawful[seq].body["probe_digest"]
            yield "receipt_not_latest", self.latest(digest, e.session).seq > seq
            yield "receipt_before_retraction", self.retracted_at(claim) > seq
        for axis in needs:
            seq, axis = axis, self.get_axis(axis)
            yield "dangling_reference", axis is None
            yield "axis_not_in_lineage", axis.session not in here.lineage
            yield "void", seq in self.void
            yield "axis_ambient", any(
                self.is_ambient(axis.body["axis"], each) for each in (e.session, axis.session))
            digest, first, last = axis.receipt["probe_digest"], min(receipts), max(receipts)
            before, after = self.latest(digest, e.session, first), self.latest(digest, e.session)
            yield "not_bracketed", before is None or after.seq < last or any(
                self.verdict(axis, e.session, e.time, up_to)[0] != "held"
                for up_to in (first, ENDLESS))
        admissible = self.admissible(here, e.time, e.body["from"])
        yield "from_not_admissible", not admissible.issuperset(e.body["from"])

    # Section 10.
    def verdict(self, axis, session, moment, up_to=ENDLESS, void=None):
        """The verdict on an axis in a session, and the reason."""
        void = self.void if void is None else void
        receipt = said = self.latest(axis.receipt["probe_digest"], session, up_to)
        ambient = self.is_ambient(axis.body["axis"], axis.session)
        drifted = "drifted_ambient" if ambient else "drifted_load_bearing"
        if receipt is None:
            reverified = [each for each in self.sessions[session].of["boundary.reverified"]
                          if each.seq <= up_to and each.seq not in void]
            said, entry = next(((each, entry) for each in reversed(reverified)
                                for entry in each.body["entries"] if entry["axis"] == axis.seq),
                               (None, {}))
            if "asserted" not in entry:
                return "unverifiable", entry.get("unverifiable", "not_probed")
            if not self.policy["asserted_values"] or "redacted" in axis.receipt:
                return "unverifiable", "asserted_only"
        elif receipt.seq in void:
            return "unverifiable", "void"
        if said.time > moment + 300_000:
            return "unverifiable", "future"
        if said.time < moment - axis.body.get("max_age_ms", 43_200_000):
            return "unverifiable", "stale"
        value = entry["asserted"] if receipt is None else receipt.body.get("value")
        held = satisfies(value, axis.body["comparator"], axis.receipt)
        if receipt is not None:
            body, end, probe = receipt.body, receipt.body["outcome"], receipt.body["probe"]
            if not finished(body):
                return "unverifiable", end["end"]
            if not body["extracted"]:
                return "unverifiable", "unparsable"
            if probe.get("check", "").startswith(("tcp=", "http=")) and value != "reachable":
                return drifted, "unreachable"
            if end["end"] == "exited" and end["exit"] != expected_exit(probe):
                return "unverifiable", "unexpected_exit"
            if not successful(body):
                return drifted, "expectation_unmet"
            if probe["redact"]:
                is_own = receipt.seq == axis.body["receipt"] and "redacted" in body
                results = {each["axis"]: each["result"] for each in body["compared"]}
                result = results.get(axis.seq, "same" if is_own else None)
                if result is None:
                    return "unverifiable", "salt_missing"
                held = result == "same"
        return ("held", None) if held else (drifted, "changed")

    def admissible(self, session, moment, claims=None):
        """Which of some claims, or of all, a session may act on at a moment."""
        if self.undetermined or session.key in self.revoked:
            return set()
        asked = [claims] if claims is not None else [[each] for each in self.supports]
        left = {each.seq: each for group in asked for each in self.rests_on(group, session)}
        left = [each for each in left.values() if not self.has_obstacle(each, session, moment)]
        found, before = set(), None
        while found != before:
            before = set(found)
            found |= {each.body["claim"] for each in left if found.issuperset(each.body["from"])}
        return found

    def counting(self, claim, session):
        """The supports of a claim that count in a session."""
        retracted = self.retracted_at(claim)
        return [each for each in self.unvoided(self.supports[claim])
                if each.session in session.lineage and each.seq > retracted
                and each.statement == self.statement_of(claim)
                and all(self.statement_of(one) == said for one, said in each.bound.items())][-SUPPORTS_MAX:]

    def rests_on(self, claims, session):
        """The supports that claims rest on together; none if they weigh too much."""
        left, found, weight = list(claims), {}, 0
        while left:
            claim = left.pop()
            if claim not in found:
                found[claim] = self.counting(claim, session)
                left += [one for each in found[claim] for one in each.body["from"]]
                weight += sum(
                    1 + len(each.receipts) + len(each.body["needs"]) + len(each.body["from"])
                    + len(self.failed_runs(each, session)) * (1 + len(each.body["needs"]))
                    for each in found[claim])
        return [each for supports in found.values() for each in supports
                if weight <= WEIGHT_MAX]

    def has_obstacle(self, support, session, moment):
        axes = [self.lawful[seq] for seq in support.body["needs"]]
        reverified = self.unvoided(session.of["boundary.reverified"])
        return (support.session != session.seq and not reverified
                or any(self.verdict(axis, session.seq, moment)[0] != "held" for axis in axes)
                or any(all(self.verdict(axis, run.session, run.time, run.seq, void=())[0] == "held"
                           for axis in axes) for run in self.failed_runs(support, session)))

    def failed_runs(self, support, session):
        digests = {self.lawful[seq].body["probe_digest"] for seq in support.receipts}
        runs = [self.latest(digest, each) for digest in digests for each in session.lineage]
        return [run for run in runs if run is not None and run.seq > support.seq
                and finished(run.body) and not successful(run.body)]

    def state_of(self, claim, lineage):
        flag, retracted = self.open_flag(claim), self.retracted_at(claim)
        supports, anywhere = self.supports[claim], self.supports[claim] + self.flags[claim]
        said = [each for each in anywhere if each.session in lineage]
        stated = [each for each in self.unvoided(supports)
                  if each.session in lineage and each.statement == self.statement_of(claim)]
        states = {
            "verified_invariant": any(each.seq > retracted for each in stated),
            "provisional_unverified": flag is not None and flag.session in lineage,
            "retracted": retracted >= 0 and said != [],
            "void": len(self.unvoided(said)) < len(said) or len(stated) < sum(
                each.session in lineage for each in supports),
            "discarded": any(each.kind == "claim.flagged" for each in said) or any(
                each.body["claim"] == claim and each.session in lineage | {0}
                for each in self.of["claim.discarded"]),
            "unsealed": not all(is_sealed(self.sessions[each.session]) for each in anywhere)}
        return next((state for state, is_so in states.items() if is_so), "unknown")

    def report(self, session, event):
        """What a session comes to at an event."""
        axes = [axis for axis in self.of["axis.recorded"] if axis.session in session.lineage]
        verdicts = [self.verdict(axis, session.seq, event.time) for axis in axes]
        return {
            "session": session.seq, "at": event.seq,
            "axes": [{"axis": axis.body["axis"], "seq": axis.seq, "verdict": verdict,
                      "reason": reason} for axis, (verdict, reason) in zip(axes, verdicts)],
            "admissible": sorted(self.admissible(session, event.time)),
            "claims": [{"claim": claim, "state": self.state_of(claim, session.lineage)}
                       for claim in sorted(self.spoken_of())]}

    # Section 11.
    def boundary(self, session):
        """The digest and the counts of a session's boundary record."""
        lists = {name: [{"body": each.body, "seq": each.seq} for each in session.of[kind]]
                 for name, kind in LISTS.items()}
        for name, kind in (("claims", "claim.verified"), ("promotions", "claim.promoted")):
            lists[name] = [
                {member: value for member, value in each.body.items() if member != "receipt"}
                | {"receipts": each.receipts, "seq": each.seq, "statement": each.statement}
                for each in session.of[kind]]
        lists["axes"] = [
            {"body": axis.body, "seq": axis.seq,
             "load_bearing_for": sorted(self.needing(session, axis.seq))}
            | {member: axis.receipt[member] for member in ("probe_digest", "redacted", "value")
               if member in axis.receipt} for axis in session.of["axis.recorded"]]
        opened = {"opened": {"body": session.opened.body, "seq": session.seq}}
        return (sha256(b"handoff-ledger/boundary/v1\n", canonical(lists | opened)),
                {name: len(lists[name]) for name in RECORDS["counts"]})
