#!/usr/bin/env python3
"""A second verifier of handoff ledgers, written from ledger-format.md alone: see README.md. Exits 0
(verified), 2 (usage), 3 (self_consistent, undetermined, incomplete, empty), 4 (tampered, unlawful),
or 5 (error)."""
import json
import sqlite3
import sys
from argparse import ArgumentParser
from base64 import b64decode
from collections import defaultdict
from contextlib import closing
from pathlib import Path

from handoff_format import KINDS, LISTS, SHAPES, Object, digest, fenced, grammar, misjudges
from handoff_format import public_key, read_event, satisfies, sha256, signature_is_valid, weigh

SUPPORT, FLAG, ENDLESS = ("claim.verified", "claim.promoted"), "claim.flagged", float("inf")
SUPPORTS_MAX, WEIGHT_MAX, SEALS_MAX = 8, 2048, 8
NOTHING = Object(seen=Object(), policy=Object(), lineage=(), roles=())  # in place of no event

def first(groups):
    """The name of the first check that applies, in groups of named checks; or none."""
    return next((name for group in groups for name, applies in group.items() if applies), None)

# Section 8.
class Ledger:
    """The lawful events so far, and what is asked of them."""
    def __init__(self):
        self.lawful, self.refused, self.undetermined = {}, [], False
        self.look()

    def take(self, e):
        """Judges an event on the state before it, and takes it in or refuses it."""
        e.receipts = e.receipts or ([] if e.receipt is None else [e.receipt])
        broken = self.undetermined or first(rules(self, e))
        if broken:
            self.refused += [] if self.undetermined else [(e, broken)]
            return
        e.seen = self.get("probe.receipt", e.receipt)
        e.statement = e.statement or self.get(FLAG, e.flag).statement
        e.bound = {each: self.statement.get(each) for each in e.get("from", [])}
        e.lineage = {e.seq}.union(*(self.lawful[each].lineage for each in e.inherits or []))
        if e.kind == "ledger.opened":
            e.key, e.label, e.roles = e.signer, e.name, ["admin", "recorder"]
        self.undetermined = max(e.rules or 1, e.body.v or 1) > 1
        self.lawful[e.seq] = e
        self.look()

    def look(self):
        """What the rules ask of a state."""
        self.of, events = defaultdict(list), self.lawful.values()
        self.revoked = {e.key: e.get("compromised_since", ENDLESS) for e in events
                        if e.kind == "key.revoked"}
        for e in events:
            e.is_void = self.voids(e)
            self.of[e.kind].append(e)
            self.of[e.kind, e.session, e.probe_digest].append(e)
        self.root = [*self.of["ledger.opened"], NOTHING][0]
        self.keys = {e.key: e for e in self.of["ledger.opened"] + self.of["key.authorized"]}
        self.sealed = {e.session: e for e in self.of["session.sealed"]}
        self.ended = self.sealed | {e.body.session: e for e in self.of["session.abandoned"]}
        self.supports = [e for e in events if e.kind in SUPPORT]
        flags = {e.claim: e for e in self.of[FLAG] if not e.is_void}
        gone = {(e.claim, e.flag) for e in self.of["claim.discarded"] if not e.is_void}
        self.open = {each: e for each, e in flags.items() if (each, e.seq) not in gone}
        stating = [e for e in self.supports if not e.is_void] + [*self.open.values()]
        stating.sort(key=lambda e: -e.seq)
        self.statement = {e.claim: e.statement for e in stating}
        self.retracted = {each: e.seq for e in self.of["claim.retracted"] for each in e.claims}
        self.ambient = {(e.session, entry.name) for e in self.of["ambient.declared"]
                        for entry in e.entries if not e.is_void}
        self.spoken = {each for e in events if e.kind.startswith("claim.")
                       for each in e.claims or [e.claim]}

    def voids(self, e):
        cited = [] if e.kind == FLAG else [e.flag, *e.receipts, *(e.needs or [])]
        return not e.kind.startswith(("ledger.", "key.", "event.")) and (
            self.revoked.get(e.signer, ENDLESS) <= e.seq
            or any(self.lawful.get(each, NOTHING).is_void for each in cited))

    def get(self, kind, seq):
        event = self.lawful.get(seq, NOTHING)
        return event if event.kind == kind else NOTHING

    def latest(self, like, session, up_to=ENDLESS):
        """The latest receipt in a session of the probe of another one."""
        runs = reversed(self.of["probe.receipt", session, like.probe_digest])
        return next((run for run in runs if run.seq <= up_to), NOTHING)

    def resolve(self, name, session):
        """(Probe digest, comparator) of what an axis name may mean; several if it is ambiguous."""
        newest = {e.session: e for e in self.of["axis.recorded"]
                  if e.axis == name and e.session in session.lineage and not e.is_void}
        told = {(e.seen.probe_digest, e.comparator, e.seen.value,
                 (e.seen.redacted or NOTHING).commitment)
                for e in newest.values() if not any(
                    e.session in self.lawful[each].lineage for each in newest.keys() - {e.session})}
        return [each[:2] for each in told] or [(None, None)]

# Section 9: the rules that an event is judged by, in order, each with whether it is broken.
def rules(s, e):
    kind, (sessions, roles, signer) = e.kind, KINDS.get(e.kind, ([], [""], ""))
    own, here = s.keys.get(e.signer, NOTHING), s.get("session.opened", e.session)
    flag, runs = s.get(FLAG, e.flag), [s.get("probe.receipt", each) for each in e.receipts]
    is_discard, by_root = kind == "claim.discarded", e.signer == s.root.signer
    if kind == "ledger.opened":
        yield dict(already_opened=s.root.kind or e.seq != 0)
    else:
        yield dict(key_not_authorized=own is NOTHING, key_revoked=e.signer in s.revoked,
                   kind_not_allowed=e.v != 1 or not sessions,
                   role=roles[0 if e.session else -1] not in ("", *own.roles))
    is_bare = is_discard and e.why != "withdrawn" and e.session == 0
    yield dict(session=is_bare or ("own" if e.session else "none") not in sessions,
               session_unknown=e.session and here is NOTHING,
               session_key=e.session and here.signer != e.signer,
               session_ended=here.seq in s.ended and kind != "action.finished",
               root_only=not by_root and (signer == "the root" or "admin" in (e.roles or ())),
               upgrade_lowers=kind == "ledger.upgraded" and e.rules == e.body.v == 1,
               acknowledges_ahead=kind == "event.acknowledged" and e.up_to >= e.seq,
               claim_unknown=kind == "claim.retracted" and {*e.claims} - s.spoken)
    if e.flag is not None:
        is_its = flag.statement == (e.statement or s.statement.get(e.claim))
        yield dict(dangling_reference=flag is NOTHING,
                   flag_not_open=s.open.get(e.claim if is_discard else flag.claim) is not flag,
                   flag_statement=not is_its and (kind, e.claim) != ("probe.begun", flag.claim),
                   flag_owner=is_discard and e.session not in (0, flag.session),
                   probe_digest=kind == "probe.begun" and e.probe_digest != flag.step_digest)
    if kind in ("claim.verified", FLAG):
        flags = [each for each in s.open.values() if kind != FLAG or each.session != e.session]
        yield dict(statement_changed=s.statement.get(e.claim, e.statement) != e.statement,
                   open_flag=any(e.claim == each.claim or e.statement == each.statement
                                 for each in flags))
    for run in runs:
        yield dict(dangling_reference=run is NOTHING, receipt_session=run.session != e.session)
        if kind in ("axis.recorded", *SUPPORT):
            yield dict(void=run.is_void, receipt_failed=not run.successful,
                       vacuous=run.is_constant and kind != "claim.promoted")
        if e.flag is not None:
            yield dict(probe_digest=run.probe_digest != flag.step_digest,
                       receipt_before_flag=run.seq <= flag.seq)
    yield dict(no_expectation=kind in SUPPORT and not any(each.shows for each in runs))
    yield from rules_of_kind(s, e, own, by_root, here, flag, [*runs, NOTHING][0])
    if kind not in SUPPORT:
        return
    yield dict(needs_missing=not e.needs and e.independent is None,
               needs_contradict=e.needs and e.independent is not None)
    for run in runs:
        yield dict(receipt_not_latest=s.latest(run, e.session) is not run,
                   receipt_before_retraction=s.retracted.get(e.claim, -1) > run.seq)
    for axis in (s.get("axis.recorded", seq) for seq in e.needs):
        yield dict(dangling_reference=axis is NOTHING,
                   axis_not_in_lineage=axis.session not in here.lineage, void=axis.is_void,
                   axis_ambient=s.ambient & {(e.session, axis.axis), (axis.session, axis.axis)})
        ends = runs[0].seq, ENDLESS
        before, after = (s.latest(axis.seen, e.session, end) for end in ends)
        yield dict(not_bracketed=before is NOTHING or after.seq < runs[-1].seq or any(
            verdict(s, axis, e.session, e.time, end)[1] for end in ends))
    yield dict(from_not_admissible={*e["from"]} - admissible(s, here, e.time, e["from"]))

def rules_of_kind(s, e, own, by_root, here, flag, run):
    match e.kind:
        case "key.authorized":
            yield dict(key_already_authorized=e.key in s.keys, key_weak=not public_key(e.key),
                       label_in_use=e.label in [each.label for each in s.keys.values()])
        case "key.revoked":
            of, since = s.keys.get(e.key, NOTHING), e.get("compromised_since", ENDLESS)
            may = by_root or e.key not in s.revoked or since < s.revoked[e.key] < ENDLESS
            yield dict(key_unknown=of is NOTHING, root_irrevocable=of is s.root,
                       root_only="admin" in of.roles and not by_root,
                       compromised_since=e.seq < since < ENDLESS or not may)
        case "session.opened":
            for each in (s.get("session.opened", seq) for seq in e.inherits):
                yield dict(session_unknown=each is NOTHING,
                           inherits_unsealed=each.seq not in s.sealed)
        case "session.abandoned":
            of = s.get("session.opened", e.body.session)
            yield dict(session_unknown=of is NOTHING, session_key=of.signer != e.signer
                       and "admin" not in own.roles, session_ended=of.seq in s.ended)
        case "session.sealed":
            said = {each.kind for each in s.lawful.values() if each.session == e.session}
            wrong = [each.session for each, rule in s.refused if rule == "boundary"]
            yield dict(ambient_undeclared="ambient.declared" not in said,
                       nothing_to_seal=said == {"ambient.declared"} and not here.inherits,
                       boundary=wrong.count(e.session) >= SEALS_MAX
                       or (e.boundary_digest, e.counts) != boundary(s, here))
        case "probe.receipt":
            begun = s.get("probe.begun", e.begun)
            seen = {s.get("axis.recorded", each.axis).seen.probe_digest for each in e.compared}
            yield dict(probe_digest=e.probe_digest != digest("probe", e.probe),
                       scope=e.scope != here.scope,
                       dangling_reference=seen - {e.probe_digest} or e.begun is not None and (
                           begun.session, begun.probe_digest) != (e.session, e.probe_digest),
                       receipt_shape=weigh(e).contradicts)
        case "axis.recorded":
            yield dict(redacted_comparator=run.probe.redact and e.comparator != "exact",
                       comparator=not run.redacted and not satisfies(run.value, e.comparator, run))
        case "ambient.declared":
            needed = {s.lawful[seq].axis for each in s.supports for seq in each.needs
                      if each.session == e.session}
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
            gate, finished = s.get("action.gated", e.gate), s.of["action.finished"]
            yield dict(dangling_reference=gate.session != e.session, gate_finished=(
                gate.decision == "refused" or e.gate in [each.gate for each in finished]))
        case "claim.flagged":
            step = weigh(Object(probe=e.step, outcome=Object(), expectations=[
                Object(met=True, met_by_empty=each) for each in e.met_by_empty]))
            asked = {e.claim, *(each for each, said in s.statement.items() if said == e.statement)}
            yield dict(
                no_derivation=not e.derivation.strip(" \t\n\v\f\r"),
                probe_digest=e.step_digest != digest("probe", e.step),
                receipt_shape=misjudges(step, "met_by_empty"), vacuous=not step.shows,
                directive=e.directive != {"do_not_act_on": e.claim, "until_probe": e.step_digest},
                needs_contradict=e.needs and e.independent is not None,
                flag_needs=any(s.resolve(each.axis, here) != [(each.probe_digest, each.comparator)]
                               for each in e.needs),
                already_admissible=asked & admissible(s, here, e.time, asked))
        case "claim.promotion_refused":
            is_failed = not (run.successful and run.shows)
            yield dict(promotion_refused_why=is_failed != (e.why == "probe_failed"))
        case "claim.promoted":
            axes = [s.get("axis.recorded", each) for each in e.needs]
            needed = {(None, each.axis) for each in axes} | {
                (each.seen.probe_digest, each.comparator) for each in axes}
            ids = {each.claim for each in s.supports + s.of[FLAG]
                   if each.statement == flag.statement}
            yield dict(
                independence_not_flagged=e.independent is not None and flag.independent is None,
                flag_needs_missing={(each.probe_digest, each.comparator or each.axis)
                                    for each in flag.needs} - needed,
                four_eyes=s.root.policy.four_eyes and any(
                    each.claim in ids and each.signer == e.signer for each in s.of[FLAG]))

# Section 10.1: the verdict on an axis in a session, and the reason; of the past, void or not.
def verdict(s, axis, session, moment, up_to=ENDLESS, past=False):
    reason = first(reasons(s, axis, session, moment, up_to, past))
    where = "ambient" if (axis.session, axis.axis) in s.ambient else "load_bearing"
    is_drift = reason in ("unreachable", "expectation_unmet", "changed")
    return f"drifted_{where}" if is_drift else "unverifiable" if reason else "held", reason

def reasons(s, axis, session, moment, up_to, past):
    run = said = s.latest(axis.seen, session, up_to)
    value, outcome, probe = run.value, run.outcome or NOTHING, run.probe or NOTHING
    if run is NOTHING:
        said, entry = next(((each, entry) for each in reversed(s.of["boundary.reverified"])
                            for entry in each.entries if (each.session, entry.axis) == (
                                session, axis.seq) and each.seq <= up_to and (
                                past or not each.is_void)), (NOTHING, NOTHING))
        value = entry.asserted
        yield {"not_probed": said is NOTHING or entry.receipt is not None,
               entry.unverifiable: value is None,
               "asserted_only": axis.seen.redacted or not s.root.policy.asserted_values}
    yield dict(void=run.is_void and not past, future=said.time > moment + 300_000,
               stale=said.time < moment - (axis.max_age_ms or 43_200_000))
    yield {outcome.end: run.kind and not run.finished, "unparsable": run.extracted is False,
           "unreachable": (probe.check or "")[:4] in ("tcp=", "http") and value != "reachable",
           "unexpected_exit": outcome.end == "exited" and outcome.exit != run.expected_exit,
           "expectation_unmet": run.kind and not run.successful}
    results = {each.axis: each.result for each in run.compared or []}
    is_own = axis.seq in results or run is axis.seen and run.redacted
    yield dict(salt_missing=probe.redact and not is_own, changed=(
        results.get(axis.seq) == "different" if probe.redact
        else not satisfies(value, axis.comparator, axis.seen)))

# Section 10.2: what a session may act on at a moment, if it asks of these claims at once.
def admissible(s, session, moment, claims):
    claims, supports, found = [*claims], [], set()
    for claim in claims:  # which grows
        counting = [each for each in s.supports if each.claim == claim and not each.is_void
                    and each.session in session.lineage and each.seq > s.retracted.get(claim, -1)
                    and each.statement == s.statement[claim]
                    and each.bound == {one: s.statement.get(one) for one in each["from"]}]
        supports += counting[-SUPPORTS_MAX:]
        claims += {one for each in counting[-SUPPORTS_MAX:] for one in each["from"]} - {*claims}
    weight = sum(1 + len(each.receipts) + len(each.needs) + len(each["from"])
                 + len(failed_runs(s, each, session)) * (1 + len(each.needs)) for each in supports)
    if weight > WEIGHT_MAX or s.undetermined or session.signer in s.revoked:
        return found
    left = [each for each in supports if not has_obstacle(s, each, session, moment)]
    while more := {each.claim for each in left if found.issuperset(each["from"])} - found:
        found |= more
    return found

def failed_runs(s, support, session):
    runs = [s.latest(s.lawful[seq], each) for each in session.lineage for seq in support.receipts]
    return {run.seq: run for run in runs if run.finished and not run.successful
            and run.seq > support.seq}.values()

def has_obstacle(s, support, session, moment):
    axes = [s.lawful[seq] for seq in support.needs]
    reverified = [e.session for e in s.of["boundary.reverified"] if not e.is_void]
    return session.seq not in (support.session, *reverified) or any(
        verdict(s, axis, session.seq, moment)[1] for axis in axes) or any(
        not any(verdict(s, axis, run.session, run.time, run.seq, True)[1] for axis in axes)
        for run in failed_runs(s, support, session))

# Section 10.3.
def state_of(s, claim, lineage):
    anywhere = [each for each in s.supports + s.of[FLAG] if each.claim == claim]
    said = [each for each in anywhere if each.session in lineage]
    flags = [each for each in said if each.kind == FLAG]
    stated = [each for each in said if each.kind in SUPPORT and not each.is_void
              and each.statement == s.statement[claim]]
    return first([dict(
        verified_invariant=any(each.seq > s.retracted.get(claim, -1) for each in stated),
        provisional_unverified=s.open.get(claim, NOTHING).session in lineage,
        retracted=claim in s.retracted and said,
        void=any(each.is_void for each in said) or len(stated) + len(flags) < len(said),
        discarded=flags or any(each.claim == claim and each.session in lineage | {0}
                               for each in s.of["claim.discarded"]),
        unsealed=any(each.session not in s.sealed for each in anywhere), unknown=True)])

def report(s, session, event):
    """What a session comes to at an event."""
    axes = [(each, *verdict(s, each, session.seq, event.time)) for each in s.of["axis.recorded"]
            if each.session in session.lineage]
    return {"session": session.seq, "at": event.seq,
            "axes": [{"axis": axis.axis, "seq": axis.seq, "verdict": verdict, "reason": reason}
                     for axis, verdict, reason in axes],
            "admissible": [each for each in sorted(s.spoken)
                           if each in admissible(s, session, event.time, [each])],
            "claims": [{"claim": each, "state": state_of(s, each, session.lineage)}
                       for each in sorted(s.spoken)]}

# Section 11: the digest and the counts of a session's boundary record.
def boundary(s, session):
    record = {name: [bound(s, each) for each in s.of[kind] if each.session == session.seq]
              for kind, name in LISTS.items()} | {"opened": bound(s, session)}
    return digest("boundary", record), {name: len(record[name]) for name in SHAPES["counts"]}

def bound(s, e):
    if e.kind in SUPPORT:
        return {each: e[each] for each in {*e.body, "receipts", "seq", "statement"} - {"receipt"}}
    if e.kind != "axis.recorded":
        return {"body": e.body, "seq": e.seq}
    needing = {each.claim for each in s.supports if each.session == e.session
               and e.seq in each.needs}
    told = {name: e.seen[name] for name in ("probe_digest", "redacted", "value") if name in e.seen}
    return told | {"body": e.body, "seq": e.seq, "load_bearing_for": sorted(needing)}

# Section 7: the events of the intact prefix, their leaves, and all faults.
def walk(records, known):
    events, leaves, faults, due, leaf = [], {}, [], 0, "0" * 64
    for at, record in records:
        event, fault = read_event(record[64:])
        found = {"length": not 65 <= len(record) <= 65_535} | {fault: fault}
        if not first([found]):
            is_sound = public_key(event.signer) is not None
            found = dict(seq=not due == at == event.seq, link=event.prev != leaf,
                         genesis=at == 0 and (event.kind, event.v) != ("ledger.opened", 1),
                         key=not is_sound, signature=is_sound and not signature_is_valid(
                             event.signer, record[:64], record[64:]))
        told = [(due if name == "seq" else at, name) for name, is_so in found.items() if is_so]
        faults += told[:1] if fault else told
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
    for at, line in enumerate(lines[1:]):
        match = grammar("eventline" if at < count else "captureline").fullmatch(line)
        kept = match and match["base64"] and b64decode(match["base64"])
        if not match or len(line) >= 87_640 or line.decode(errors="ignore").encode() != line or (
                at >= count and match["of"] <= max(captures, default=b"")
                or len(kept or b"") > 65_536):
            return records, captures, [(len(records), "export_line")], False
        if at < count:
            records.append((at, kept + match["event"]))
            continue
        of, salt = match["of"], bytes.fromhex(match["salt"].decode())
        if kept is not None and sha256(salt, kept).encode() != of:
            return records, captures, [(None, "capture")], False
        captures[of] = salt, kept
    ends = [sha256(b"\0", record).encode() for _, record in records[:1] + records[-1:]]
    is_whole = len(records) == count
    faults = [(None, "export_header")] * (is_whole and ends != [header["ledger"], header["leaf"]])
    return records, captures, faults, not is_whole or rest != b""

# Section 13: SQLite reads a copy in memory.
ROWS = ("SELECT type, name, tbl_name, sql, typeof(rootpage), min(rootpage, 2) FROM sqlite_schema "
        "ORDER BY name")
NEXT = "SELECT seq, record FROM event WHERE seq >= ? ORDER BY seq LIMIT 1"

def connect():
    database = sqlite3.connect(":memory:")
    database.text_factory = lambda text: text.decode(errors="replace")
    return closing(database)

with connect() as database:
    database.executescript(fenced("sql"))
    SCHEMA = database.execute(ROWS).fetchall()

def read_sqlite(data):
    page, pages, version = (int.from_bytes(data[at:at + size], "big")
                            for at, size in ((16, 2), (28, 4), (60, 4)))
    page, records, captures, where = 65_536 if page == 1 else page, [], {}, None
    if len(data) < 100 or data[:16] + data[68:72] != b"SQLite format 3\0hndf" or version > 1:
        raise ValueError("no ledger file, or newer than this text")
    fields = data[18:24] + data[44:60] + data[64:68] + data[72:92]
    if page < 512 or page & (page - 1) or fields != (
            b"\1\1\0@  \0\0\0\4" + bytes(8) + b"\0\0\0\1" + bytes(24)):
        return [], {}, [(None, "storage")], False
    faults = [(None, "storage")] * (page * pages != len(data))
    with connect() as database:
        try:
            database.deserialize(data)
            if version < 1 or database.execute(ROWS).fetchall() != SCHEMA:
                return [], {}, [(None, "schema")], False
            row, where = (-2**63 - 1,), 0
            while row := database.execute(NEXT, (row[0] + 1,)).fetchone():
                if row[0] < 0:
                    raise ValueError("no seq")
                records.append((row[0], bytes(memoryview(row[1]))))
                where += 1
            where = None
            for of, salt, kept in database.execute("SELECT commitment, salt, bytes FROM capture"):
                captures[of.hex().encode()] = bytes(salt), kept and bytes(kept)
            if database.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
                faults.append((None, "storage"))
        except (sqlite3.Error, ValueError, TypeError, AttributeError, OverflowError) as error:
            is_schema = "malformed database schema" in str(error)
            faults.append((where, "schema" if is_schema else "storage"))
    return records, captures, sorted(faults, key=lambda fault: fault[0] is None), False

# Section 12.
def wrong_captures(events, captures):
    kept = [stream.kept for e in events for stream in (e.outputs or {}).values()]
    for each in kept + [e.redacted for e in events if e.redacted]:
        salt, there = captures.get(each.commitment.encode(), (None, None))
        if salt is not None and each.salt_digest not in (None, sha256(salt)) or (
                there is not None and (sha256(salt, there), len(there)) != (
                    each.commitment, each.get("length", len(there)))):
            yield each.commitment

def verify(path, root=None, expect=None, at=None, known=None, sessions=True, **_):
    path, known = Path(path), {int(seq): leaf for seq, leaf in (known or {}).items()}
    head = grammar("headline").fullmatch((expect or "").encode())
    if expect and not head:
        raise ValueError("no head line")
    data = path.read_bytes()
    is_export = data != b"" and b'{"count":'.startswith(data[:9])
    records, captures, container, broken_off = (read_export if is_export else read_sqlite)(data)
    broken_off = broken_off or not is_export and any(
        path.with_name(path.name + end).exists() for end in ("-journal", "-wal", "-shm"))
    events, leaves, faults = walk(records, known)
    if head and (expect[:21], leaves[int(head["head"]):][:1]) != (
            "handoff1:" + "".join(leaves[:1])[:12], [expect[-64:]]):
        faults.append((int(head["head"]), "expect"))
    faults += container + [(None, "capture") for _ in {*wrong_captures(events, captures)}]
    s, reports = Ledger(), []
    for e in events:
        s.take(e)
        ends = [e, None] if e is events[-1] else [e]
        reports += [report(s, each, e) for each in s.of["session.opened"] if sessions and (
            s.ended.get(each.seq) in ends if at is None else e.seq == at)]
    acknowledged = max((each.up_to for each in s.of["event.acknowledged"]), default=-1)
    return {
        "result": first([dict(
            tampered=faults, unlawful=any(each.seq > acknowledged for each, _ in s.refused),
            undetermined=s.undetermined, incomplete=broken_off, empty=not events,
            self_consistent=events and events[0].signer != root, verified=True)]),
        "events": len(events), "ledger": leaves[0] if leaves else None, "error": None,
        "head": {"seq": len(leaves) - 1, "hash": leaves[-1]} if leaves else None,
        "faults": [{"seq": seq, "kind": kind} for seq, kind in faults],
        "refused": [{"seq": each.seq, "rule": rule} for each, rule in s.refused],
        "voided": [each.seq for each in s.lawful.values() if each.is_void],
        "sessions": sorted(reports, key=lambda report: report["session"])}

def answer(request):
    """What `verify` says of a request, or that it cannot be read, or is no ledger."""
    try:
        return verify(**json.loads(request))
    except Exception as error:
        return {"result": "error", "error": repr(error), "events": 0, "ledger": None, "head": None,
                "faults": [], "refused": [], "voided": [], "sessions": []}

def main():
    if sys.argv[1:] == ["--serve"]:
        for line in sys.stdin:
            print(json.dumps(answer(line)), flush=True)
        return 0
    arguments = ArgumentParser(description=__doc__)
    for name, more in (("path", {}), ("--trust", {"dest": "root"}), ("--expect", {}),
                       ("--at", {"type": int}), ("--json", {"action": "store_true"})):
        arguments.add_argument(name, **more)
    options = vars(arguments.parse_args())
    told = answer(json.dumps(options))
    print(json.dumps(told, indent=None if options["json"] else 1))
    return {"verified": 0, "tampered": 4, "unlawful": 4, "error": 5}.get(told["result"], 3)

if __name__ == "__main__":
    sys.exit(main())
