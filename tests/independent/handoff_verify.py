#!/usr/bin/env python3
"""A second verifier of handoff ledgers, written from ledger-format.md alone.

It shares no code with the program, so what both say of a ledger is what the text says. It reads an
export or a ledger file, writes nothing, and runs nothing. Python 3.11 and `cryptography`.

    handoff_verify.py FILE [--trust HEX] [--expect HEAD] [--at SEQ] [--json]

exits 0 (verified), 2 (usage), 3 (self_consistent, undetermined, incomplete, empty), 4 (tampered,
unlawful) or 5 (error). `--at SEQ` asks all sessions at that event, in place of each at its end.

    handoff_verify.py --serve

reads one request from each line of standard input, and answers each with one line of JSON:

    {"path": FILE, "kind": "export" or "sqlite", "root": HEX or null, "expect": HEAD or null,
     "sessions": true, "at": SEQ or null, "known": {"SEQ": LEAF}}

`path` is needed; without `kind` the file's first bytes decide; `known` are records verified
before. The answer has these members, whatever came in:

    {"result": "verified", "events": N, "head": {"seq": N, "hash": HEX} or null,
     "faults": [{"seq": N or null, "kind": K}], "refused": [{"seq": N, "rule": R}], "voided": [N],
     "checkpoint": TEXT or null, "error": TEXT or null,
     "sessions": [{"session": S, "at": N, "axes": [{"axis": NAME, "seq": N, "verdict": V,
                   "reason": R or null}], "admissible": [CLAIM], "claims": [{"claim": C, "state": T}]}]}

`events`, `head`, `checkpoint`, `refused`, `voided` and `sessions` are of the intact prefix, ascending.
A session is shown at its seal or abandonment, or at the head while open, by the time of that event:
`axes` are all axes of its lineage, by seq; `claims` all claims spoken of by then, by id.
"""
