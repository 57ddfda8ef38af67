#!/usr/bin/env python3
"""A second verifier of handoff ledgers, written from ledger-format.md alone.

It shares no code with the program, so what both say of a ledger is what the text says. It reads an
export or a ledger file, changes nothing, and runs nothing. Python 3.11 and `cryptography`.

    handoff_verify.py FILE [--trust HEX] [--expect HEAD] [--at SEQ] [--json]

exits 0 (verified), 2 (usage), 3 (self_consistent, undetermined, incomplete, empty), 4 (tampered,
unlawful) or 5 (error). `--at SEQ` asks all sessions at that event, in place of each at its end.

    handoff_verify.py --serve

reads one request from each line of standard input, and answers each with one line of JSON:

    {"path": FILE, "kind": "export" or "sqlite", "root": HEX or null, "expect": HEAD or null,
     "sessions": true or false, "at": SEQ or null, "known": {"SEQ": LEAF}}

`path` is needed; without `kind` the file's first byte decides, and `sessions` are told; `known` are
records verified before. The answer has these members, whatever came in:

    {"result": "verified", "events": N, "head": {"seq": N, "hash": HEX} or null,
     "faults": [{"seq": N or null, "kind": K}], "refused": [{"seq": N, "rule": R}], "voided": [N],
     "checkpoint": TEXT or null, "error": TEXT or null,
     "sessions": [{"session": S, "at": N, "axes": [{"axis": NAME, "seq": N, "verdict": V,
                   "reason": R or null}], "admissible": [CLAIM],
                   "claims": [{"claim": C, "state": T}]}]}

All but `result` and `faults` is of the intact prefix, and lists ascend. A session is shown at its
seal or abandonment, or at the head while it is open, by the time of that event: `axes` are all axes
of its lineage, by seq; `claims` all claims spoken of by then, by id.
"""
import base64
import json
import re
import sqlite3
import sys
from hashlib import sha256 as raw_sha256
from pathlib import Path

from handoff_format import MAX_INTEGER, public_key, read_event, sha256, signature_is_valid
from handoff_state import Ledger


def walk(records, known):
    """Section 7: the events of the intact prefix, all leaves and faults, of (position, record)s."""
    events, leaves, faults = [], [], []
    for expected, (seq, record) in enumerate(records):
        event, is_canonical = read_event(record[64:])
        if not 65 <= len(record) <= 65_535:
            found = {"length": True}
        elif event is None or not is_canonical:
            found = {"malformed": event is None, "not_canonical": event is not None}
        else:
            sound = public_key(event.key) is not None
            pae = b"DSSEv1 44 application/vnd.handoff-ledger.event.v1+json %d " % (len(record) - 64)
            found = {"seq": not expected == seq == event.seq,
                     "link": event.prev != (leaves[-1] if leaves else "0" * 64),
                     "genesis": seq == 0 and (event.kind, event.v) != ("ledger.opened", 1),
                     "key": not sound, "signature": sound and not signature_is_valid(
                         event.key, record[:64], pae + record[64:])}
        leaves.append(sha256(b"\0", record))
        faults += [(seq, fault) for fault, there in found.items() if there]
        events += [] if faults else [event]
    for seq, leaf in sorted(known.items()):
        if leaves[seq:seq + 1] != [leaf]:
            faults.append((seq, "replaced" if seq < len(leaves) else "missing"))
    return events, leaves, faults


sys.setrecursionlimit(5000)  # a script may wrap a command in `env` a thousand times


class NotALedger(Exception):
    """The input cannot be read, or is no ledger."""


HEADER = re.compile(rb'{"count":(\d{1,16}),"format":"handoff-ledger-export/v1","head":"handoff1:'
                    rb'(.{12}):(\d+):([0-9a-f]{64})","ledger":"([0-9a-f]{64})"}')
CAPTURE = re.compile(rb'{"capture":"([0-9a-f]{64})",(?:"bytes":"(.*)",)?"salt":"([0-9a-f]{32})"}')


def unbase64(text):
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data) != text:
        raise ValueError("not the one spelling of these bytes")
    return data


def read_export(data):
    """Section 14: records, captures, container faults, and whether the export breaks off."""
    *lines, rest = data.split(b"\n")
    if not lines:
        return [], {}, [], True
    told = HEADER.fullmatch(lines[0])
    count, short, seq, head, ledger = told.groups() if told else [b""] * 5
    if not told or count != b"%d" % int(count) or ledger[:12] != short or (
            seq != b"%d" % (int(count) - 1)):
        raise NotALedger("no header of an export")
    records, captures, count = [], {}, int(count)
    for line in lines[1:]:
        try:
            line.decode()
            if len(line) >= 87_640:
                raise ValueError("a line that is too long")
            if len(records) < count:
                if len(line) < 107 or (line[:9], line[-98:-90], line[-2:]) != (
                        b'{"event":', b',"sig":"', b'"}'):
                    raise ValueError("not an event")
                records.append((len(records), unbase64(line[-90:-2]) + line[9:-98]))
                continue
            capture = CAPTURE.fullmatch(line)
            commitment = capture[1].decode() if capture else ""
            kept = unbase64(capture[2]) if capture and capture[2] is not None else None
            if commitment <= max(captures, default="") or len(kept or b"") > 65_536:
                raise ValueError("not a capture, or not in its place")
            captures[commitment] = bytes.fromhex(capture[3].decode()), kept
        except ValueError:
            return records, captures, [(len(records), "export_line")], False
    leaves = [sha256(b"\0", record) for _, record in records]
    wrong = len(leaves) == count and (leaves[0], leaves[-1]) != (ledger.decode(), head.decode())
    faults = [(None, "export_header")] if wrong else []
    faults += [(None, "capture") for commitment, (salt, kept) in captures.items()
               if kept is not None and sha256(salt, kept) != commitment]
    return records, captures, faults, len(leaves) < count or rest != b""


# Section 13: SHA-256 of the rows of sqlite_schema as JSON. run_vectors.py makes it of the text.
SCHEMA = "8000c83a517314710e5a6a32b0ec814d3aaeeea8dbe750609fb1b9cdc48966f5"
NEXT = "SELECT seq, record FROM event WHERE seq >= ? ORDER BY seq LIMIT 1"


def schema_digest(database):
    """Rows that are none of a schema have another digest, as rows of another schema have."""
    try:
        rows = database.execute("SELECT name, type, tbl_name, sql, CASE WHEN rootpage >= 2 "
                                "THEN 'page' ELSE rootpage END FROM sqlite_schema ORDER BY name")
        return sha256(json.dumps(rows.fetchall(), default=repr).encode())
    except sqlite3.DatabaseError as error:
        if not str(error).startswith(("malformed database schema", "Could not decode")):
            raise
        return None


def read_sqlite(data):
    """Section 13, of all the bytes of a ledger file: SQLite reads a copy of them in memory."""
    def number(at, size):
        return int.from_bytes(data[at:at + size], "big")
    page = 65_536 if number(16, 2) == 1 else number(16, 2)
    if len(data) < 100 or data[:16] != b"SQLite format 3\0" or number(68, 4) != 0x686E6466:
        raise NotALedger("no SQLite file of this application")
    if number(60, 4) > 1:
        raise NotALedger("newer than this text")
    if page < 512 or page & (page - 1) or data[18:20] != b"\1\1" or number(56, 4) != 1:
        return [], {}, [(None, "storage")], False
    records, captures, faults = [], {}, []
    if number(28, 4) * page != len(data):
        faults.append((None, "storage"))
    database = sqlite3.connect(":memory:")
    try:
        database.deserialize(data)
        if number(60, 4) < 1 or schema_digest(database) != SCHEMA:
            return [], {}, [(None, "schema")], False
        row = database.execute(NEXT, (-2**63,)).fetchone()
        while row:
            seq, record = row
            if not 0 <= seq <= MAX_INTEGER or not isinstance(record, bytes):
                raise sqlite3.DatabaseError("a value of another type")
            records.append(row)
            row = seq == len(records) - 1 and database.execute(NEXT, (seq + 1,)).fetchone()
        for commitment, salt, kept in database.execute("SELECT * FROM capture"):
            captures[commitment.hex()] = bytes(salt), kept and bytes(kept)
        if database.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
            faults.append((None, "storage"))
    except (sqlite3.Error, ValueError, TypeError, AttributeError, OverflowError):
        faults.append((len(records) or None, "storage"))
    finally:
        database.close()
    return records, captures, faults, False


def wrong_captures(events, captures):
    """Section 12, step 6."""
    for body in (each.body for each in events if each.kind == "probe.receipt" and each.v == 1):
        for kept in (stream["kept"] for stream in body.get("outputs", {}).values()):
            salt, there = captures.get(kept["commitment"], (None, None))
            wanted = kept["commitment"], kept["length"]
            if there is not None and (sha256(salt, there), len(there)) != wanted:
                yield kept["commitment"]
        redacted = body.get("redacted", {})
        salt, there = captures.get(redacted.get("commitment"), (None, None))
        if salt is not None and sha256(salt) != redacted["salt_digest"] or (
                there is not None and sha256(salt, there) != redacted["commitment"]):
            yield redacted["commitment"]


def tree_root(leaves):
    """The Merkle tree hash of RFC 6962 section 2.1."""
    if len(leaves) == 1:
        return leaves[0]
    left = 1 << (len(leaves) - 1).bit_length() - 1
    return raw_sha256(b"\1" + tree_root(leaves[:left]) + tree_root(leaves[left:])).digest()


def verify(request):
    """Section 12: what --serve answers."""
    answer = {"result": "error", "events": 0, "head": None, "checkpoint": None, "error": None,
              "faults": [], "refused": [], "voided": [], "sessions": []}
    try:
        path, at, expect = Path(request["path"]), request.get("at"), request.get("expect")
        known = {int(seq): leaf for seq, leaf in (request.get("known") or {}).items()}
        short, seq, leaf = re.fullmatch(r"handoff1:([0-9a-f]{12}):(\d{1,16}):([0-9a-f]{64})",
                                        expect or f"handoff1:{'0' * 12}:0:{'0' * 64}").groups()
        data = path.read_bytes()
        is_export = data[:1] == b"{" if not request.get("kind") else request["kind"] == "export"
        records, captures, container, broken_off = (read_export if is_export else read_sqlite)(data)
    except (OSError, NotALedger, LookupError, TypeError, ValueError, AttributeError) as error:
        return answer | {"error": repr(error)}
    beside = [path.with_name(path.name + end).exists() for end in ("-journal", "-wal", "-shm")]
    events, leaves, faults = walk(records, known)
    leaves = leaves[:len(events)]
    met = [each[:12] for each in leaves[:1]] + leaves[int(seq):int(seq) + 1] == [short, leaf]
    if expect and not met:
        faults.append((int(seq), "expect"))
    faults += sorted(set(container), key=container.index)
    if "capture" not in dict(map(reversed, container)):
        faults += [(None, "capture") for _ in set(wrong_captures(events, captures))]
    ledger, reports = Ledger(), []
    for event in events:
        ledger.take(event)
        ending = [event, None] if event is events[-1] else [event]
        reports += [ledger.report(each, event) for each in ledger.sessions.values()
                    if (each.end in ending if at is None else at == event.seq)
                    and request.get("sessions", True)]
    if leaves:
        tree = base64.b64encode(tree_root([bytes.fromhex(each) for each in leaves])).decode()
        answer |= {"head": {"seq": len(leaves) - 1, "hash": leaves[-1]},
                   "checkpoint": f"handoff-ledger/{leaves[0]}\n{len(leaves)}\n{tree}\n"}
    results = {"tampered": faults,
               "unlawful": any(seq > ledger.acknowledged for seq, _ in ledger.refused),
               "undetermined": ledger.undetermined,
               "incomplete": broken_off or not is_export and any(beside), "empty": not events,
               "self_consistent": not events or events[0].key != request.get("root")}
    return answer | {
        "result": next((result for result, is_so in results.items() if is_so), "verified"),
        "events": len(events), "faults": [{"seq": seq, "kind": kind} for seq, kind in faults],
        "voided": sorted(ledger.void),
        "refused": [{"seq": seq, "rule": rule} for seq, rule in ledger.refused],
        "sessions": sorted(reports, key=lambda report: report["session"])}


def answer_line(line):
    """An answer to whatever stands on a line: this process outlives every request."""
    try:
        request = json.loads(line)
        return verify(request if isinstance(request, dict) else {})
    except Exception as error:
        return verify({}) | {"error": repr(error)}


def main(arguments):
    if arguments == ["--serve"]:
        for line in sys.stdin:
            print(json.dumps(answer_line(line)), flush=True)
        return 0
    options = {"--trust": None, "--expect": None, "--at": None}
    files = [each for each in arguments if each != "--json"]
    for name in options:
        if name in files[:-1]:
            at = files.index(name)
            options[name], files[at:at + 2] = files[at + 1], []
    if len(files) != 1 or files[0].startswith("-") or not (options["--at"] or "0").isdigit():
        print(__doc__, file=sys.stderr)
        return 2
    answer = verify({"path": files[0], "root": options["--trust"], "expect": options["--expect"],
                     "at": options["--at"] and int(options["--at"])})
    if "--json" in arguments:
        print(json.dumps(answer))
    else:
        print(answer["result"], answer["events"], "events", answer["head"], answer["error"] or "")
        for name in ("faults", "refused", "voided", "sessions"):
            for each in answer[name]:
                print(f"{name}: {each}")
    return {"verified": 0, "tampered": 4, "unlawful": 4, "error": 5}.get(answer["result"], 3)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
