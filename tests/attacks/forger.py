"""A forger: writes handoff ledgers from ledger-format.md alone, and holds every key it needs.

Shares no code with the program. Section numbers are those of ledger-format.md. Whatever the forger
signs is truly signed; whether it is lawful is for the program to judge.
"""

import base64
import copy
import datetime
import hashlib
import os
import pathlib
import re
import sqlite3

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PAGE = pathlib.Path(__file__).resolve().parents[2] / "ledger-format.md"
SCHEMA_SQL = re.search(r"```sql\n(.*?)```", PAGE.read_text("utf-8"), re.S).group(1)
PAYLOAD_TYPE = b"application/vnd.handoff-ledger.event.v1+json"
APPLICATION_ID = 0x686E6466
NO_LEAF = "0" * 64
ORDER = 2**252 + 27742317777372353535851937790883648493
PRIME = 2**255 - 19


# --- section 3: canonical form -------------------------------------------------------------------

SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


class Raw(str):
    """Text put into the JSON as it stands, canonical or not."""


def text(value):
    out = []
    for char in value:
        if char in SHORT:
            out.append(SHORT[char])
        elif ord(char) < 0x20:
            out.append("\\u%04x" % ord(char))
        else:
            out.append(char)
    return '"' + "".join(out) + '"'


def canonical_text(value):
    if isinstance(value, Raw):
        return str(value)
    if value is True or value is False:
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(canonical_text(item) for item in value) + "]"
    members = sorted(value.items(), key=lambda item: item[0].encode())
    return "{" + ",".join(text(name) + ":" + canonical_text(item) for name, item in members) + "}"


def canonical(value):
    return canonical_text(value).encode("utf-8", "surrogatepass")


# --- section 4: formulas -------------------------------------------------------------------------


def sha256(data):
    return hashlib.sha256(data).digest()


def pae(event, payload_type=PAYLOAD_TYPE):
    return b"DSSEv1 %d %s %d %s" % (len(payload_type), payload_type, len(event), event)


def leaf(record):
    return sha256(b"\0" + record).hex()


def tagged(tag, value):
    return sha256(tag + b"\n" + canonical(value)).hex()


def probe_digest(probe):
    return tagged(b"handoff-ledger/probe/v1", probe)


SCOPE = tagged(
    b"handoff-ledger/scope/v1", {"boot": "b", "host": "h", "namespaces": [], "root": "/"}
)


class Key:
    """An Ed25519 key from a seed of 32 bytes, or of one byte repeated."""

    def __init__(self, seed):
        self.seed = bytes([seed]) * 32 if isinstance(seed, int) else seed
        self.secret = Ed25519PrivateKey.from_private_bytes(self.seed)
        raw = serialization.Encoding.Raw, serialization.PublicFormat.Raw
        self.public_bytes = self.secret.public_key().public_bytes(*raw)
        self.public = self.public_bytes.hex()

    def sign(self, event, payload_type=PAYLOAD_TYPE):
        return self.secret.sign(pae(event, payload_type))

    def scalar(self):
        digest = hashlib.sha512(self.seed).digest()
        number = int.from_bytes(digest[:32], "little")
        return (number & ((1 << 254) - 8)) | (1 << 254)

    def pem(self):
        form = serialization.PrivateFormat.PKCS8
        return self.secret.private_bytes(
            serialization.Encoding.PEM, form, serialization.NoEncryption()
        )

    def openssh(self):
        form = serialization.PrivateFormat.OpenSSH
        return self.secret.private_bytes(
            serialization.Encoding.PEM, form, serialization.NoEncryption()
        )

    def public_pem(self):
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return self.secret.public_key().public_bytes(serialization.Encoding.PEM, form)

    def save(self, path, mode=0o600):
        descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, mode)
        os.write(descriptor, self.pem())
        os.close(descriptor)
        os.chmod(path, mode)
        return path


ROOT, ALICE, BOB, MALLORY = Key(0x11), Key(0x22), Key(0x33), Key(0x66)


# --- Edwards arithmetic, for signatures and keys that no library would make ----------------------

D = (-121665 * pow(121666, PRIME - 2, PRIME)) % PRIME
ROOT_OF_MINUS_ONE = pow(2, (PRIME - 1) // 4, PRIME)


def decode_point(data):
    number = int.from_bytes(data, "little")
    sign, y = number >> 255, (number & ((1 << 255) - 1)) % PRIME
    square = (y * y - 1) * pow(D * y * y + 1, PRIME - 2, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if (x * x - square) % PRIME:
        x = x * ROOT_OF_MINUS_ONE % PRIME
    if (x * x - square) % PRIME:
        return None
    return (PRIME - x if x % 2 != sign and x else x), y


def encode_point(point):
    return (point[1] | ((point[0] & 1) << 255)).to_bytes(32, "little")


def add_points(one, other):
    (x1, y1), (x2, y2) = one, other
    t = D * x1 * x2 * y1 * y2 % PRIME
    x = (x1 * y2 + x2 * y1) * pow(1 + t, PRIME - 2, PRIME)
    y = (y1 * y2 + x1 * x2) * pow(1 - t, PRIME - 2, PRIME)
    return x % PRIME, y % PRIME


# The eight points of small order, and every other spelling of them: the fourteen of CCTV.
LOW_ORDER = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
]


def torsioned(public):
    """The same key with a point of order eight added: verifies under cofactored equations."""
    eighth = decode_point(bytes.fromhex(LOW_ORDER[6]))
    return encode_point(add_points(decode_point(public), eighth))


def challenge(r, public, message):
    return int.from_bytes(hashlib.sha512(r + public + message).digest(), "little") % ORDER


# --- section 5: probes, and bodies ---------------------------------------------------------------


def probe(argv=None, check=None, **members):
    made = {
        "cwd": ".",
        "env": [],
        "exit_only": False,
        "expect": [],
        "extract": "trim",
        "redact": False,
        "shell": False,
        "timeout_ms": 10000,
    }
    if argv is not None:
        made["argv"] = argv
    if check is not None:
        made["check"] = check
    made.update(members)
    return made


SALT = b"sixteen bytes ok"
PRINTED = b"4\n"


def commitment(data, salt=SALT):
    return {"commitment": sha256(salt + data).hex(), "length": len(data)}


OUTPUT = commitment(PRINTED)
STREAM = {"kept": OUTPUT, "whole": OUTPUT}
ERASED = commitment(b"private\n")


def receipt(made, value="4", **members):
    """The body of a successful receipt; members replace, and None removes."""
    body = {
        "compared": [],
        "duration_ms": 5,
        "expectations": [
            {"met": True, "met_by_empty": one.startswith("exit=")} for one in made["expect"]
        ],
        "extracted": True,
        "files": [],
        "outcome": {"end": "exited", "exit": 0} if "argv" in made else {"end": "checked"},
        "pipe_held": False,
        "probe": made,
        "probe_digest": probe_digest(made),
        "scope": SCOPE,
    }
    if "argv" in made:
        body["outputs"] = {"stderr": STREAM, "stdout": STREAM}
    if value is not None and made["extract"] != "none":
        body["value"] = value
    body.update(members)
    return {name: item for name, item in body.items() if item is not None}


def flag(claim, statement, step, **members):
    digest = probe_digest(step)
    body = {
        "claim": claim,
        "derivation": "read in the source",
        "directive": {"do_not_act_on": claim, "until_probe": digest},
        "files": [],
        "met_by_empty": [one.startswith("exit=") for one in step["expect"]],
        "needs": [],
        "statement": statement,
        "step": step,
        "step_digest": digest,
    }
    body.update(members)
    return {name: item for name, item in body.items() if item is not None}


def verified(claim, statement, receipts, needs, **members):
    body = {
        "claim": claim,
        "from": [],
        "needs": needs,
        "receipts": receipts,
        "statement": statement,
    }
    body.update(members)
    return {name: item for name, item in body.items() if item is not None}


def promoted(claim, of, by, needs, **members):
    body = {"claim": claim, "flag": of, "from": [], "needs": needs, "receipt": by}
    body.update(members)
    return {name: item for name, item in body.items() if item is not None}


# --- the ledger ----------------------------------------------------------------------------------

START_MS = 1_767_603_600_000  # 2026-01-05T09:00:00.000Z
STEP_MS = 10


def moment(milliseconds):
    whole = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=milliseconds)
    return whole.strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (whole.microsecond // 1000)


class Ledger:
    """Records in order, and the events they hold, as far as the forger knows them."""

    def __init__(self, root=ROOT, name="forged", nonce=None, start_ms=START_MS, policy=None):
        self.records, self.events, self.signers = [], [], []
        self.root = root
        self.now_ms = start_ms
        self.captures = []
        self.scope = SCOPE
        self.marks = {}
        rules = {"asserted_values": False, "four_eyes": False}
        rules.update(policy or {})
        nonce = nonce or sha256(b"nonce of " + name.encode()).hex()
        self.add("ledger.opened", {"name": name, "nonce": nonce, "policy": rules, "rules": 1})

    def copy(self):
        """Bodies are never changed in place, so that lists are all there is to copy."""
        other = copy.copy(self)
        for name in ("records", "events", "signers", "captures"):
            setattr(other, name, list(getattr(self, name)))
        return other

    @property
    def count(self):
        return len(self.records)

    @property
    def prev(self):
        return leaf(self.records[-1]) if self.records else NO_LEAF

    @property
    def id(self):
        return leaf(self.records[0])

    def head_line(self, seq=None):
        seq = self.count - 1 if seq is None else seq
        return "handoff1:%s:%d:%s" % (self.id[:12], seq, leaf(self.records[seq]))

    def event(self, kind, body, key=None, session=0, **envelope):
        """The next event, unsigned; `envelope` replaces its members, and None removes."""
        self.now_ms += STEP_MS
        event = {
            "body": body,
            "key": (key or self.root).public,
            "kind": kind,
            "prev": self.prev,
            "seq": self.count,
            "session": session,
            "time": moment(self.now_ms),
            "v": 1,
        }
        event.update(envelope)
        return {name: item for name, item in event.items() if item is not None}

    def put(self, event, data, signature, key=None):
        """Appends a record as it is; returns its seq."""
        self.records.append(signature + data)
        self.events.append(event)
        self.signers.append(key)
        return self.count - 1

    def add(self, kind, body, key=None, session=0, **envelope):
        """Signs and appends; returns the seq."""
        key = key or self.root
        event = self.event(kind, body, key, session, **envelope)
        data = canonical(event)
        return self.put(event, data, key.sign(data), key)

    def add_bytes(self, data, key=None):
        """Signs and appends bytes that may be no event; returns the seq."""
        key = key or self.root
        return self.put(None, data, key.sign(data), key)

    def truncate(self, count):
        del self.records[count:], self.events[count:], self.signers[count:]
        return self

    def resign_from(self, seq):
        """Chains and signs anew all from `seq` on, with the keys that signed them before."""
        events, signers = self.events[seq:], self.signers[seq:]
        self.truncate(seq)
        for event, key in zip(events, signers):
            event = dict(event, prev=self.prev, seq=self.count)
            data = canonical(event)
            self.put(event, data, key.sign(data), key)
        return self

    # --- sessions and what stands in them ---

    def authorize(self, key, label, roles=("recorder",), by=None):
        body = {"key": key.public, "label": label, "roles": list(roles)}
        return self.add("key.authorized", body, by)

    def revoke(self, key, by=None, **members):
        return self.add("key.revoked", {"key": key.public, "reason": "lost", **members}, by)

    def open(self, key, agent="agent", inherits=(), **members):
        body = {"agent": agent, "inherits": list(inherits), "scope": self.scope, **members}
        return self.add("session.opened", body, key)

    def within(self, session, kind, body, **envelope):
        """An event of a session, signed by the key that opened it."""
        key = envelope.pop("key", None) or self.signers[session]
        return self.add(kind, body, key, session, **envelope)

    def receipt(self, session, made, value="4", **members):
        members.setdefault("scope", self.events[session]["body"]["scope"])
        return self.within(session, "probe.receipt", receipt(made, value, **members))

    def axis(self, session, name, of, comparator="exact", **members):
        body = {
            "axis": name,
            "class": "dependency_version",
            "comparator": comparator,
            "receipt": of,
            **members,
        }
        return self.within(session, "axis.recorded", body)

    def proof(self, session, made, axis_probe, value="4", axis_value="4"):
        """Axis, proof, axis: the bracket of a claim; returns the proof's seq."""
        self.receipt(session, axis_probe, axis_value)
        shown = self.receipt(session, made, value)
        self.receipt(session, axis_probe, axis_value)
        return shown

    def verified(self, session, claim, statement, receipts, needs, **members):
        body = verified(claim, statement, receipts, needs, **members)
        return self.within(session, "claim.verified", body)

    def flag(self, session, claim, statement, step, **members):
        return self.within(session, "claim.flagged", flag(claim, statement, step, **members))

    def promoted(self, session, claim, of, by, needs, **members):
        return self.within(session, "claim.promoted", promoted(claim, of, by, needs, **members))

    def ambient(self, session, entries=()):
        return self.within(session, "ambient.declared", {"entries": list(entries)})

    def reverified(self, session, entries=()):
        return self.within(session, "boundary.reverified", {"entries": list(entries)})

    def boundary(self, session, refused=()):
        """Section 11: the boundary record of a session as it stands."""
        own = [
            (seq, event)
            for seq, event in enumerate(self.events)
            if event and event.get("session") == session and seq not in refused
        ]

        def of(kind):
            return [(seq, event["body"]) for seq, event in own if event["kind"] == kind]

        def whole(kind):
            return [{"body": body, "seq": seq} for seq, body in of(kind)]

        record = {
            "ambient": whole("ambient.declared"),
            "begun": whole("probe.begun"),
            "discards": whole("claim.discarded"),
            "flags": whole("claim.flagged"),
            "gates": whole("action.gated"),
            "promotions_refused": whole("claim.promotion_refused"),
            "receipts": whole("probe.receipt"),
            "retractions": whole("claim.retracted"),
            "reverified": whole("boundary.reverified"),
            "opened": {"body": self.events[session]["body"], "seq": session},
            "axes": [],
            "claims": [],
            "promotions": [],
        }
        supports = of("claim.verified") + of("claim.promoted")
        for seq, body in of("axis.recorded"):
            seen = self.events[body["receipt"]]["body"]
            bearing = {one["claim"] for _, one in supports if seq in one["needs"]}
            entry = {
                "body": body,
                "load_bearing_for": sorted(bearing),
                "probe_digest": seen["probe_digest"],
                "seq": seq,
            }
            for name in ("value", "redacted"):
                if name in seen:
                    entry[name] = seen[name]
            record["axes"].append(entry)
        shared = ("claim", "from", "independent", "needs")
        for seq, body in of("claim.verified"):
            entry = {name: body[name] for name in shared if name in body}
            entry.update(seq=seq, receipts=body["receipts"], statement=body["statement"])
            record["claims"].append(entry)
        for seq, body in of("claim.promoted"):
            entry = {name: body[name] for name in shared if name in body}
            entry.update(seq=seq, receipts=[body["receipt"]], flag=body["flag"])
            entry["statement"] = self.events[body["flag"]]["body"]["statement"]
            record["promotions"].append(entry)
        return record

    def seal(self, session, key=None, refused=(), **members):
        record = self.boundary(session, refused)
        counted = "ambient axes claims discards flags promotions receipts retractions".split()
        body = {
            "boundary_digest": tagged(b"handoff-ledger/boundary/v1", record),
            "counts": {name: len(record[name]) for name in counted},
        }
        body.update(members)
        return self.within(session, "session.sealed", body, key=key)

    # --- files ---

    def save(self, path, sql=SCHEMA_SQL, page_size=16384, prepare=()):
        """Section 13: a ledger file. Statements of `prepare` run before the schema is made."""
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA page_size=%d" % page_size)
        for statement in prepare:
            connection.execute(statement)
        connection.executescript(sql)
        connection.execute("PRAGMA application_id=%d" % APPLICATION_ID)
        connection.execute("PRAGMA user_version=1")
        connection.execute("PRAGMA ignore_check_constraints=ON")
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO event VALUES(?,?)", enumerate(self.records))
        connection.executemany("INSERT INTO capture VALUES(?,?,?)", self.captures)
        connection.execute("COMMIT")
        connection.close()
        os.chmod(path, 0o600)
        return path

    def export_header(self, **members):
        head = {
            "count": self.count,
            "format": "handoff-ledger-export/v1",
            "head": self.head_line(),
            "ledger": self.id,
        }
        head.update(members)
        return canonical(head) + b"\n"

    def export_line(self, record):
        sig = base64.b64encode(record[:64])
        return b'{"event":' + record[64:] + b',"sig":"' + sig + b'"}\n'

    def export(self, **members):
        """Section 14: the bytes of an export."""
        lines = b"".join(self.export_line(record) for record in self.records)
        return self.export_header(**members) + lines


# --- L: what the attacks are made on -------------------------------------------------------------

AXIS_PROBE = probe(["cat", "version.txt"])
CHECK_PROBE = probe(check="file-sha256=version.txt")
PROOF = probe(["cat", "proof.txt"], expect=["value=4"])
STEP = probe(["cat", "step.txt"], expect=["value=4"], timeout_ms=600000)
FAILING = probe(["cat", "other.txt"], expect=["value=4"], timeout_ms=600000)
FILLERS = 44


def build():
    """L: over 200 events, three keys (root, alice, bob), one session sealed, one open and one
    abandoned, every kind that version 1 has but `ledger.upgraded`, which would leave every later
    event unjudged. Where things stand is in `marks`."""
    made = Ledger(name="attacked")
    made.captures = [(bytes.fromhex(OUTPUT["commitment"]), SALT, PRINTED)]
    marks = made.marks
    marks["alice"] = made.authorize(ALICE, "alice")
    marks["bob"] = made.authorize(BOB, "bob")
    marks["third"] = made.authorize(MALLORY, "third")
    marks["sealed"] = first = made.open(ALICE, "first", purpose="to look")
    marks["axis_receipt"] = seen = made.receipt(first, AXIS_PROBE)
    marks["axis"] = axis = made.axis(first, "version", seen)
    for number in range(FILLERS):
        own = probe(["cat", "proof-%d.txt" % number], expect=["value=4"])
        shown = made.proof(first, own, AXIS_PROBE)
        made.verified(first, "claim-%d" % number, "statement %d" % number, [shown], [axis])
    marks["proof"] = shown = made.proof(first, PROOF, AXIS_PROBE)
    marks["claim"] = made.verified(first, "claim", "it is four", [shown], [axis])
    marks["derived_proof"] = shown = made.proof(
        first, probe(["cat", "d.txt"], expect=["value=4"]), AXIS_PROBE
    )
    marks["derived"] = made.verified(
        first, "derived", "so it follows", [shown], [axis], **{"from": ["claim"]}
    )
    marks["flag"] = made.flag(first, "pending", "the step would show it", STEP)
    marks["flag_two"] = made.flag(first, "pending-two", "another step would", FAILING)
    marks["withdrawn"] = made.flag(
        first, "withdrawn", "a mistake", probe(["cat", "w.txt"], expect=["value=4"])
    )
    withdrawn = {
        "claim": "withdrawn",
        "flag": marks["withdrawn"],
        "reason": "a mistake",
        "statement": "a mistake",
        "why": "withdrawn",
    }
    marks["discarded"] = made.within(first, "claim.discarded", withdrawn)
    made.within(first, "claim.retracted", {"claims": ["claim-0"], "reason": "it was wrong"})
    made.ambient(first, [{"name": "weather", "observed": ["rain"], "reason": "it changes"}])
    marks["seal"] = made.seal(first)
    marks["open"] = second = made.open(BOB, "second", [first])
    private = {"kept": ERASED, "whole": ERASED}
    outputs = {"stderr": private, "stdout": STREAM}
    marks["second_receipt"] = seen = made.receipt(second, AXIS_PROBE, outputs=outputs)
    marks["reverified"] = made.reverified(second, [{"axis": axis, "receipt": seen}])
    begun = {"claim": "pending", "flag": marks["flag"], "probe_digest": probe_digest(STEP)}
    marks["begun"] = made.within(second, "probe.begun", begun)
    marks["step"] = shown = made.receipt(second, STEP, begun=marks["begun"])
    made.receipt(second, AXIS_PROBE)
    marks["promoted"] = made.promoted(second, "pending", marks["flag"], shown, [axis])
    failed = made.receipt(
        second, FAILING, "5", expectations=[{"met": False, "met_by_empty": False}]
    )
    marks["failed"] = failed
    made.within(
        second,
        "claim.promotion_refused",
        {
            "claim": "pending-two",
            "flag": marks["flag_two"],
            "receipt": failed,
            "why": "probe_failed",
        },
    )
    gate = made.within(
        second, "action.gated", {"argv": ["deploy"], "claims": ["claim"], "decision": "allowed"}
    )
    marks["gate"] = gate
    made.within(second, "action.finished", {"gate": gate, "outcome": {"end": "exited", "exit": 0}})
    marks["gone"] = gone = made.open(MALLORY, "third")
    made.add("session.abandoned", {"reason": "it died", "session": gone}, MALLORY)
    marks["revoked"] = made.revoke(MALLORY)
    made.add("capture.erased", {"commitments": [ERASED["commitment"]], "reason": "private"})
    made.add("event.acknowledged", {"reason": "none", "up_to": 0})
    return made
