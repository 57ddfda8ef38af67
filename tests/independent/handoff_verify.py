#!/usr/bin/env python3
"""A second verifier of handoff ledgers, written from ledger-format.md alone: see README.md. It says
what it makes of a ledger file or an export, or answers requests, a line each. It exits 0 (verified),
2 (usage), 3 (self_consistent, undetermined, incomplete, empty), 4 (tampered, unlawful), 5 (error).
"""
import json
import re
import sqlite3
import sys
from argparse import ArgumentParser
from base64 import b64decode
from contextlib import closing
from functools import lru_cache
from pathlib import Path

from handoff_format import KINDS, LISTS, SHAPES, Object, digest, misjudges, public_key, read_event
from handoff_format import fenced, grammar, satisfies, sha256, signature_is_valid, weigh

NOTHING = Object(body=Object(), end=Object(), seen=Object(), lineage=())  # in place of no event
ENDLESS, AUTHORITY = float("inf"), "ledger.opened key.authorized"
SUPPORT, FLAG = "claim.verified claim.promoted", "claim.flagged"
CLAIMS = " ".join(kind for kind in KINDS if kind.startswith("claim."))
SUPPORTS_MAX, WEIGHT_MAX, SEALS_MAX = 8, 2048, 8

def first(groups):
    """The name of the first check that applies, in groups of named checks; or none."""
    return next((name for group in groups for name, applies in group.items() if applies), None)

def since(revocation):
    return ENDLESS if revocation.compromised_since is None else revocation.compromised_since

# Section 8.
class Ledger:
    """The lawful events so far, and what is asked of them."""
    def __init__(self):
        self.lawful, self.refused, self.undetermined = {}, [], False

    def take(self, e):
        """Judges an event on the state before it, and takes it in or refuses it."""
        e.receipts = e.receipts or [each for each in [e.receipt] if each is not None]
        broken = not self.undetermined and first(rules(self, e))
        self.refused += [(e, broken)] if broken else []
        if broken or self.undetermined:
            return
        e.end, e.seen = Object(), self.get("probe.receipt", e.receipt)
        e.statement = e.statement or self.get(FLAG, e.flag).statement
        e.lineage = {e.seq}.union(*(self.lawful[each].lineage for each in e.inherits or []))
        e.bound = {each: self.statement_of(each) for each in e.get("from", [])}
        if e.kind == "ledger.opened":
            e.key, e.label, e.roles = e.signer, e.name, ["admin", "recorder"]
        if e.kind in ("session.sealed", "session.abandoned"):
            self.lawful[e.session or e.body.session].end = e
        self.undetermined = max(e.rules or 1, e.body.v or 1) > 1
        self.lawful[e.seq] = e
        Ledger.all.cache_clear()
        for each in self.lawful.values() if e.kind == "key.revoked" else [e]:
            each.is_void = self.voids(each)

    def voids(self, e):
        cited = [] if e.kind == FLAG else [e.flag, *e.receipts, *(e.needs or [])]
        return not e.kind.startswith(("ledger.", "key.", "event.")) and (
            since(self.last("key.revoked", key=e.signer)) <= e.seq
            or any(self.lawful.get(each, NOTHING).is_void for each in cited))

    def get(self, kind, seq):
        event = self.lawful.get(seq, NOTHING)
        return event if event.kind == kind else NOTHING

    @lru_cache(None)
    def all(self, kinds, up_to=ENDLESS, **members):
        """The lawful events of these kinds that have these members, up to a seq."""
        return [each for each in self.lawful.values() if each["kind"] in kinds
                and each["seq"] <= up_to and members.items() <= each.items()]

    def last(self, *which, **members):
        return [NOTHING, *self.all(*which, **members)][-1]

    def latest(self, like, session, up_to=ENDLESS):
        """The latest receipt in a session of the probe of another one."""
        return self.last("probe.receipt", up_to, session=session, probe_digest=like.probe_digest)

    def unvoided(self, kinds, **members):
        return [each for each in self.all(kinds, **members) if not each.is_void]

    def open_flag(self, claim):
        flag = [NOTHING, *self.unvoided(FLAG, claim=claim)][-1]
        return NOTHING if self.unvoided("claim.discarded", claim=claim, flag=flag.seq) else flag

    def ids(self, statement):
        return {each.claim for each in self.all(f"{SUPPORT} {FLAG}", statement=statement)}

    def statement_of(self, claim):
        said = [*self.unvoided(SUPPORT, claim=claim), self.open_flag(claim)]
        return min([(each.seq, each.statement) for each in said if each.kind] or [(0, None)])[1]

    def retracted_at(self, claim):
        said = self.all("claim.retracted")
        return max((each.seq for each in said if claim in each.claims), default=-1)

    def is_ambient(self, axis, session):
        said = self.unvoided("ambient.declared", session=session)
        return axis.axis in [entry.name for each in said for entry in each.entries]

    def spoken_of(self):
        return {claim for each in self.all(CLAIMS) for claim in each.claims or [each.claim]}

    def resolve(self, name, session):
        """(Probe digest, comparator) of what an axis name may mean; several if it is ambiguous."""
        newest = {each.session: each for each in self.unvoided("axis.recorded", axis=name)
                  if each.session in session.lineage}
        left = [axis for axis in newest.values() if not any(
            axis.session in self.lawful[each].lineage for each in newest if each != axis.session)]
        told = {(axis.seen.probe_digest, axis.comparator, axis.seen.value,
                 (axis.seen.redacted or Object()).commitment) for axis in left}
        return [each[:2] for each in told] or [(None, None)]

# Section 9: the rules that an event is judged by, in order, each with whether it is broken.
def rules(s, e):
    kind, (sessions, roles, signer) = e.kind, KINDS.get(e.kind, ([], [""], ""))
    root, own = s.last("ledger.opened"), s.last(AUTHORITY, key=e.signer)
    here, flag = s.get("session.opened", e.session), s.get(FLAG, e.flag)
    by_root, runs = e.signer == root.signer, [s.get("probe.receipt", each) for each in e.receipts]
    if kind == "ledger.opened":
        yield dict(already_opened=root.kind or e.seq != 0)
    else:
        yield dict(key_not_authorized=own is NOTHING,
                   key_revoked=s.all("key.revoked", key=e.signer),
                   kind_not_allowed=e.v != 1 or not sessions)
        role = roles[0 if e.session else -1]
        yield dict(role=role and role not in own.roles)
    yield dict(session=("own" if e.session else "none") not in sessions)
    if e.session:
        yield dict(session_unknown=here is NOTHING, session_key=here.signer != e.signer,
                   session_ended=here.end.kind and kind != "action.finished")
    if e.flag is not None:
        claim = e.claim if kind == "claim.discarded" else flag.claim
        is_its = (e.statement or s.statement_of(e.claim)) == flag.statement
        yield dict(dangling_reference=flag is NOTHING, flag_not_open=s.open_flag(claim) is not flag,
                   flag_statement=not is_its and (kind, e.claim) != ("probe.begun", flag.claim))
    if kind == "claim.retracted":
        yield dict(claim_unknown={*e.claims} - s.spoken_of())
    if kind in ("claim.verified", FLAG):
        flags = [s.open_flag(each) for each in {e.claim, *s.ids(e.statement)}]
        yield dict(
            statement_changed=s.statement_of(e.claim) not in (None, e.statement), open_flag=any(
                each.kind and (each.claim == e.claim or each.statement == e.statement)
                and (kind != FLAG or each.session != e.session) for each in flags))
    for run in runs:
        yield dict(dangling_reference=run is NOTHING, receipt_session=run.session != e.session)
        if kind in f"axis.recorded {SUPPORT}":
            yield dict(void=run.is_void, receipt_failed=not run.successful,
                       vacuous=run.is_constant and kind != "claim.promoted")
    match kind:
        case "ledger.upgraded":
            yield dict(root_only=not by_root, upgrade_lowers=e.rules == e.body.v == 1)
        case "key.authorized":
            yield dict(root_only="admin" in e.roles and not by_root,
                       key_already_authorized=s.all(AUTHORITY, key=e.key),
                       key_weak=not public_key(e.key), label_in_use=s.all(AUTHORITY, label=e.label))
        case "key.revoked":
            of, before = s.last(AUTHORITY, key=e.key), s.last("key.revoked", key=e.key)
            yield dict(key_unknown=of is NOTHING, root_irrevocable=of is root)
            is_lowered = since(e) < since(before) < ENDLESS
            yield dict(root_only="admin" in of.roles and not by_root,
                       compromised_since=e.seq < since(e) < ENDLESS
                       or before.kind and not by_root and not is_lowered)
        case "session.opened":
            for each in (s.get("session.opened", seq) for seq in e.inherits):
                yield dict(session_unknown=each is NOTHING,
                           inherits_unsealed=each.end.kind != "session.sealed")
        case "session.sealed":
            said = {each.kind for each in s.lawful.values() if each.session == e.session}
            yield dict(ambient_undeclared="ambient.declared" not in said,
                       nothing_to_seal=said == {"ambient.declared"} and not here.inherits)
            wrong = [each for each, rule in s.refused if rule == "boundary"]
            yield dict(boundary=[each.session for each in wrong].count(e.session) >= SEALS_MAX
                       or (e.boundary_digest, e.counts) != boundary(s, here))
        case "session.abandoned":
            of = s.get("session.opened", e.body.session)
            yield dict(session_unknown=of is NOTHING,
                       session_key=of.signer != e.signer and "admin" not in own.roles,
                       session_ended=of.end.kind)
        case "event.acknowledged":
            yield dict(root_only=not by_root, acknowledges_ahead=e.up_to >= e.seq)
        case "probe.begun":
            yield dict(probe_digest=e.probe_digest != flag.step_digest)
        case "probe.receipt":
            same = dict(session=e.session, probe_digest=e.probe_digest)
            seen = {s.get("axis.recorded", each.axis).seen.probe_digest for each in e.compared}
            yield dict(probe_digest=e.probe_digest != digest("probe", e.probe),
                       scope=e.scope != here.scope, dangling_reference=seen - {e.probe_digest}
                       or e.begun is not None and not s.all("probe.begun", seq=e.begun, **same),
                       receipt_shape=weigh(e).contradicts)
        case "axis.recorded":
            yield dict(redacted_comparator=runs[0].probe.redact and e.comparator != "exact",
                       comparator=not runs[0].redacted and not satisfies(
                           runs[0].value, e.comparator, runs[0]))
        case "ambient.declared":
            supports = s.all(SUPPORT, session=e.session)
            needed = {s.lawful[seq].axis for each in supports for seq in each.needs}
            yield dict(ambient_load_bearing=needed & {each.name for each in e.entries})
        case "boundary.reverified":
            for each in e.entries:
                axis, run = s.get("axis.recorded", each.axis), s.get("probe.receipt", each.receipt)
                is_its = (run.session, run.probe_digest) == (e.session, axis.seen.probe_digest)
                yield dict(dangling_reference=axis is NOTHING,
                           axis_not_in_lineage=axis.session not in here.lineage,
                           reverified_receipt=each.receipt is not None and not is_its)
        case "action.gated":
            is_allowed = admissible(s, here, e.time, e.claims) >= {*e.claims}
            yield dict(gate_decision=is_allowed != (e.decision == "allowed"))
        case "action.finished":
            gate = s.get("action.gated", e.gate)
            yield dict(dangling_reference=gate.session != e.session,
                       gate_finished=gate.decision == "refused" or s.all(kind, gate=e.gate))
        case "claim.flagged":
            step = weigh(Object(probe=e.step, outcome=Object(), expectations=[
                Object(met=True, met_by_empty=each) for each in e.met_by_empty]))
            directive = {"do_not_act_on": e.claim, "until_probe": e.step_digest}
            yield dict(
                no_derivation=not e.derivation.strip(" \t\n\v\f\r"),
                probe_digest=e.step_digest != digest("probe", e.step),
                receipt_shape=misjudges(step, "met_by_empty"), vacuous=not step.shows,
                directive=e.directive != directive,
                needs_contradict=e.needs and e.independent is not None,
                flag_needs=any(s.resolve(each.axis, here) != [(each.probe_digest, each.comparator)]
                               for each in e.needs))
            same = {each for each in s.ids(e.statement) if s.statement_of(each) == e.statement}
            asked = same | {e.claim}
            yield dict(already_admissible=asked & admissible(s, here, e.time, asked))
        case "claim.discarded":
            yield dict(session=e.why != "withdrawn" and e.session == 0,
                       flag_owner=e.why == "withdrawn" and e.session not in (0, flag.session))
        case "claim.promoted" | "claim.promotion_refused":
            yield dict(probe_digest=runs[0].probe_digest != flag.step_digest,
                       receipt_before_flag=runs[0].seq <= flag.seq)
            if kind == "claim.promotion_refused":
                is_met = bool(runs[0].successful and runs[0].shows)
                yield dict(promotion_refused_why=is_met == (e.why == "probe_failed"))
                return
            axes = [s.get("axis.recorded", each) for each in e.needs]
            needed = [each.axis for each in axes] + [
                (each.seen.probe_digest, each.comparator) for each in axes]
            yield dict(
                no_expectation=not runs[0].shows,
                independence_not_flagged=e.independent is not None and flag.independent is None,
                flag_needs_missing=any(
                    (each.probe_digest, each.comparator) not in needed if each.comparator
                    else each.axis not in needed for each in flag.needs),
                four_eyes=root.policy.four_eyes and any(
                    s.all(FLAG, claim=each, signer=e.signer) for each in s.ids(flag.statement)))
            yield from support(s, e, here, runs)
        case "claim.verified":
            yield dict(no_expectation=not any(each.shows for each in runs))
            yield from support(s, e, here, runs)

def support(s, e, here, runs):
    yield dict(needs_missing=not e.needs and e.independent is None,
               needs_contradict=e.needs and e.independent is not None)
    for run in runs:
        yield dict(receipt_not_latest=s.latest(run, e.session) is not run,
                   receipt_before_retraction=s.retracted_at(e.claim) > run.seq)
    for axis in (s.get("axis.recorded", seq) for seq in e.needs):
        yield dict(dangling_reference=axis is NOTHING,
                   axis_not_in_lineage=axis.session not in here.lineage, void=axis.is_void,
                   axis_ambient=s.is_ambient(axis, e.session) or s.is_ambient(axis, axis.session))
        ends = runs[0].seq, ENDLESS
        before, after = (s.latest(axis.seen, e.session, end) for end in ends)
        yield dict(not_bracketed=before is NOTHING or after.seq < runs[-1].seq or any(
            verdict(s, axis, e.session, e.time, end)[0] != "held" for end in ends))
    yield dict(from_not_admissible={*e["from"]} - admissible(s, here, e.time, e["from"]))

# Section 10.1: the verdict on an axis in a session, and the reason.
def verdict(s, axis, session, moment, up_to=ENDLESS, past=False):
    reason = first(reasons(s, axis, session, moment, up_to, past))
    where = "ambient" if s.is_ambient(axis, axis.session) else "load_bearing"
    is_drift = reason in ("unreachable", "expectation_unmet", "changed")
    return f"drifted_{where}" if is_drift else "unverifiable" if reason else "held", reason

def reasons(s, axis, session, moment, up_to, past):
    run = said = s.latest(axis.seen, session, up_to)
    value, is_redacted, outcome = run.value, run.kind and run.probe.redact, run.outcome
    if not run.kind:
        entries = [(each, entry) for each in s.all("boundary.reverified", up_to, session=session)
                   for entry in each.entries
                   if entry.axis == axis.seq and (past or not each.is_void)]
        yield dict(not_probed=not entries or entries[-1][1].receipt is not None)
        said, entry = entries[-1]
        value = entry.asserted
        yield {entry.unverifiable: value is None}
        yield dict(asserted_only=not s.last("ledger.opened").policy.asserted_values
                   or axis.seen.redacted)
    yield dict(void=run.is_void and not past, future=said.time > moment + 300_000,
               stale=said.time < moment - (axis.max_age_ms or 43_200_000))
    if run.kind:
        check = run.probe.check or ""
        yield {outcome.end: not run.finished}
        yield dict(unparsable=not run.extracted,
                   unreachable=check.startswith(("tcp=", "http=")) and value != "reachable",
                   unexpected_exit=outcome.end == "exited" and outcome.exit != run.expected_exit,
                   expectation_unmet=not run.successful)
    results = {each.axis: each.result for each in run.compared or []}
    is_own = axis.seq in results or run is axis.seen and run.redacted
    yield dict(salt_missing=is_redacted and not is_own, changed=(
        results.get(axis.seq) == "different" if is_redacted
        else not satisfies(value, axis.comparator, axis.seen)))

# Section 10.2.
def admissible(s, session, moment, claims):
    """What a session may act on at a moment, if it asks of these claims at once."""
    claims, supports, found = [*claims], [], set()
    for claim in claims:  # which grows
        counting = [each for each in s.unvoided(
            SUPPORT, claim=claim, statement=s.statement_of(claim))
            if each.session in session.lineage and each.seq > s.retracted_at(claim)
            and all(s.statement_of(one) == said for one, said in each.bound.items())]
        supports += counting[-SUPPORTS_MAX:]
        claims += {one for each in counting[-SUPPORTS_MAX:] for one in each["from"]} - {*claims}
    weight = sum(
        1 + len(each.receipts) + len(each.needs) + len(each["from"])
        + len(failed_runs(s, each, session)) * (1 + len(each.needs)) for each in supports)
    if weight > WEIGHT_MAX or s.undetermined or s.all("key.revoked", key=session.signer):
        return found
    left = [each for each in supports if not has_obstacle(s, each, session, moment)]
    while more := {each.claim for each in left if found.issuperset(each["from"])} - found:
        found |= more
    return found

def failed_runs(s, support, session):
    runs = [s.latest(s.lawful[seq], each) for each in session.lineage for seq in support.receipts]
    return {run.seq: run for run in runs if run.kind and run.finished and not run.successful
            and run.seq > support.seq}.values()

def has_obstacle(s, support, session, moment):
    axes = [s.lawful[seq] for seq in support.needs]
    reverified = s.unvoided("boundary.reverified", session=session.seq)
    return support.session != session.seq and not reverified or any(
        verdict(s, axis, session.seq, moment)[0] != "held" for axis in axes) or any(
        all(verdict(s, axis, run.session, run.time, run.seq, True)[0] == "held" for axis in axes)
        for run in failed_runs(s, support, session))

# Section 10.3.
def state_of(s, claim, lineage):
    retracted, anywhere = s.retracted_at(claim), s.all(f"{SUPPORT} {FLAG}", claim=claim)
    said = [each for each in anywhere if each.session in lineage]
    stated = [each for each in said if each.kind != FLAG and not each.is_void
              and each.statement == s.statement_of(claim)]
    discards, flags = s.all("claim.discarded", claim=claim), [e for e in said if e.kind == FLAG]
    return first([dict(
        verified_invariant=any(each.seq > retracted for each in stated),
        provisional_unverified=s.open_flag(claim).session in lineage,
        retracted=retracted >= 0 and said,
        void=any(each.is_void for each in said) or len(stated) + len(flags) < len(said),
        discarded=flags or any(each.session in lineage | {0} for each in discards),
        unsealed=any(s.lawful[e.session].end.kind != "session.sealed" for e in anywhere),
        unknown=True)])

def report(s, session, event):
    """What a session comes to at an event."""
    axes = [(axis, verdict(s, axis, session.seq, event.time)) for axis in s.all("axis.recorded")
            if axis.session in session.lineage]
    claims = sorted(s.spoken_of())
    return {"session": session.seq, "at": event.seq,
            "axes": [{"axis": axis.axis, "seq": axis.seq, "verdict": verdict, "reason": reason}
                     for axis, (verdict, reason) in axes],
            "admissible": [each for each in claims
                           if each in admissible(s, session, event.time, [each])],
            "claims": [{"claim": each, "state": state_of(s, each, session.lineage)}
                       for each in claims]}

# Section 11: the digest and the counts of a session's boundary record.
def boundary(s, session):
    record = {name: [bound(s, each) for each in s.all(kind, session=session.seq)]
              for kind, name in LISTS.items()}
    counts = {name: len(record[name]) for name in SHAPES["counts"]}
    return digest("boundary", record | {"opened": bound(s, session)}), counts

def bound(s, e):
    if e.kind in SUPPORT:
        names = e.body.keys() - {"receipt"} | {"receipts", "seq", "statement"}
        return {name: e[name] for name in names}
    if e.kind != "axis.recorded":
        return {"body": e.body, "seq": e.seq}
    needing = {each.claim for each in s.all(SUPPORT, session=e.session) if e.seq in each.needs}
    told = {name: e.seen[name] for name in ("probe_digest", "redacted", "value") if name in e.seen}
    return told | {"body": e.body, "seq": e.seq, "load_bearing_for": sorted(needing)}

# Section 7: the events of the intact prefix, their leaves, and all faults.
def walk(records, known):
    events, leaves, faults, due, leaf = [], {}, [], 0, "0" * 64
    for at, record in records:
        event, fault = read_event(record[64:])
        found = {"length": not 65 <= len(record) <= 65_535} | {fault: fault}
        if not any(found.values()):
            is_sound = public_key(event.signer) is not None
            found = dict(seq=not due == at == event.seq, link=event.prev != leaf,
                         genesis=at == 0 and (event.kind, event.v) != ("ledger.opened", 1),
                         key=not is_sound, signature=is_sound and not signature_is_valid(
                             event.signer, record[:64], record[64:]))
        told = [name for name, is_so in found.items() if is_so]
        faults += [(due if name == "seq" else at, name) for name in told[:1 if fault else None]]
        events += [] if faults else [event]
        leaf, due = sha256(b"\0", record), at + 1
        leaves[at] = leaf
    faults += [(seq, "replaced" if seq in leaves else "missing")
               for seq, leaf in sorted(known.items()) if leaves.get(seq) != leaf]
    return events, [*leaves.values()][:len(events)], faults

# Section 14: records, captures, faults, and whether an export breaks off.
def read_export(data):
    *lines, rest = data.split(b"\n")
    header = grammar("header").fullmatch(lines[0]) if lines else None
    count = int(header["count"]) if header else 1
    if lines and (not header or int(header["head"]) != count - 1):
        raise ValueError("no header of an export")
    records, captures = [], {}
    for line in lines[1:]:
        is_event = len(records) < count
        match = grammar("eventline" if is_event else "captureline").fullmatch(line)
        kept = match and match["base64"] and b64decode(match["base64"])
        is_placed = match and len(line) < 87_640 and is_utf8(line) and (is_event or (
            match["of"] > max(captures, default=b"") and len(kept or b"") <= 65_536))
        if not is_placed:
            return records, captures, [(len(records), "export_line")], False
        if is_event:
            records.append((len(records), kept + match["event"]))
        else:
            captures[match["of"]] = bytes.fromhex(match["salt"].decode()), kept
    is_whole = len(records) == count
    ends = [sha256(b"\0", record).encode() for _, record in records[:1] + records[-1:]]
    is_wrong = is_whole and ends != [header["ledger"], header["leaf"]]
    wrong = [(None, "export_header")] if is_wrong else []
    return records, captures, wrong, not is_whole or rest != b""

def is_utf8(line):
    return line.decode(errors="ignore").encode() == line

# Section 13: SQLite reads a copy in memory.
ROWS = """SELECT type, name, tbl_name, sql, typeof(rootpage), min(rootpage, 2) FROM sqlite_schema
          ORDER BY name"""
FIELDS = b"\1\1\0@  ", b"\0\0\0\4" + bytes(8) + b"\0\0\0\1", bytes(4), bytes(20)

def connect():
    database = sqlite3.connect(":memory:")
    database.text_factory = lambda text: text.decode(errors="replace")
    database.execute("PRAGMA writable_schema = ON")  # rows that are no schema can be read, too
    return closing(database)

with connect() as database:
    database.executescript(fenced("sql"))
    SCHEMA = database.execute(ROWS).fetchall()

def read_sqlite(data):
    page, pages, version = (
        int.from_bytes(data[at:end], "big") for at, end in ((16, 18), (28, 32), (60, 64)))
    page, storage = 65_536 if page == 1 else page, [(None, "storage")]
    if len(data) < 100 or data[:16] + data[68:72] != b"SQLite format 3\0hndf" or version > 1:
        raise ValueError("no ledger file, or newer than this text")
    fields = data[18:24], data[44:60], data[64:68], data[72:92]
    if page < 512 or page & (page - 1) or fields != FIELDS:
        return [], {}, storage, False
    records, captures, faults = [], {}, [] if page * pages == len(data) else storage
    with connect() as database:
        try:
            database.deserialize(data)
            if version < 1 or database.execute(ROWS).fetchall() != SCHEMA:
                return [], {}, [(None, "schema")], False
            for seq, record in database.execute("SELECT seq, record FROM event ORDER BY seq"):
                records.append((seq, bytes(memoryview(record))))
            for of, salt, kept in database.execute("SELECT commitment, salt, bytes FROM capture"):
                captures[of.hex().encode()] = bytes(salt), kept and bytes(kept)
            if database.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
                faults = faults + storage
        except (sqlite3.Error, ValueError, TypeError, AttributeError, OverflowError):
            faults = faults + [(len(records) or None, "storage")]
    return records, captures, faults, False

# Section 12.
def wrong_captures(events, captures):
    for e in events:
        kept = [stream.kept for stream in (e.outputs or {}).values()]
        for each in [*kept, e.redacted] if e.redacted else kept:
            salt, there = captures.get(each.commitment.encode(), (None, None))
            if salt is not None and each.salt_digest not in (None, sha256(salt)) or (
                    there is not None and (sha256(salt, there) != each.commitment
                                           or each.length not in (None, len(there)))):
                yield each.commitment

def verify(path, root=None, expect=None, at=None, known=None, sessions=True, **_):
    path, known = Path(path), {int(seq): leaf for seq, leaf in (known or {}).items()}
    head = grammar("headline").fullmatch((expect or "").encode())
    if expect and not head:
        raise ValueError("no head line")
    data = path.read_bytes()
    is_export = data != b"" and b'{"count":'.startswith(data[:9])
    records, captures, container, broken_off = (read_export if is_export else read_sqlite)(data)
    beside = [path.with_name(path.name + end).exists() for end in ("-journal", "-wal", "-shm")]
    events, leaves, faults = walk(records, known)
    found = [each[:12] for each in leaves[:1]] + leaves[int(head["head"]):][:1] if head else []
    if head and found != [head["short"].decode(), head["leaf"].decode()]:
        faults.append((int(head["head"]), "expect"))
    faults += container + [(None, "capture") for _ in {*wrong_captures(events, captures)}]
    s, reports = Ledger(), []
    for e in events:
        s.take(e)
        ends = [e, {}] if e is events[-1] else [e]
        reports += [report(s, each, e) for each in s.all("session.opened")
                    if sessions and (each.end in ends if at is None else e.seq == at)]
    acknowledged = max((each.up_to for each in s.all("event.acknowledged")), default=-1)
    return {
        "result": first([dict(
            tampered=faults, unlawful=any(each.seq > acknowledged for each, _ in s.refused),
            undetermined=s.undetermined, incomplete=broken_off or not is_export and any(beside),
            empty=not events, self_consistent=events and events[0].signer != root, verified=True)]),
        "events": len(events), "ledger": leaves[0] if leaves else None, "error": None,
        "head": {"seq": len(leaves) - 1, "hash": leaves[-1]} if leaves else None,
        "faults": [{"seq": seq, "kind": kind} for seq, kind in faults],
        "refused": [{"seq": each.seq, "rule": rule} for each, rule in s.refused],
        "voided": [each.seq for each in s.lawful.values() if each.is_void],
        "sessions": sorted(reports, key=lambda report: report["session"])}

def answer(request):
    """What `verify` says of a request, or that it cannot be read, or is no ledger."""
    try:
        return verify(**(json.loads(request) if isinstance(request, str) else request))
    except Exception as error:
        return {"result": "error", "error": repr(error), "events": 0, "ledger": None, "head": None,
                "faults": [], "refused": [], "voided": [], "sessions": []}

def main():
    arguments = ArgumentParser(description=__doc__)
    arguments.add_argument("path", nargs="?", default="")
    arguments.add_argument("--trust", dest="root", metavar="HEX")
    arguments.add_argument("--expect", metavar="HEAD")
    arguments.add_argument("--at", metavar="SEQ", type=int)
    arguments.add_argument("--serve", action="store_true")
    arguments.add_argument("--json", action="store_true")
    options = arguments.parse_args()
    for line in sys.stdin if options.serve else []:
        print(json.dumps(answer(line)), flush=True)
    if options.serve:
        return 0
    told = answer(vars(options))
    print(json.dumps(told, indent=None if options.json else 1))
    return {"verified": 0, "tampered": 4, "unlawful": 4, "error": 5}.get(told["result"], 3)

if __name__ == "__main__":
    sys.exit(main())
