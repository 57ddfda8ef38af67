"""L: the command line, and files of keys."""

import base64
import json
import os
import pathlib
import stat
import subprocess

import forger
from harness import Table, accepted, classes, demand, difference, good, ledger, snapshot, patience

TABLE = Table("L")
FULL = ledger()
COUNT = FULL.count
PEM = forger.ROOT.pem()


def private(path, data, mode=0o600):
    path.write_bytes(data)
    os.chmod(path, mode)


def rsa():
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import rsa as algorithm

    key = algorithm.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())


def x25519():
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return X25519PrivateKey.generate().private_bytes(
        form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
    )


def encrypted():
    from cryptography.hazmat.primitives import serialization as form

    return forger.ROOT.secret.private_bytes(
        form.Encoding.PEM, form.PrivateFormat.PKCS8, form.BestAvailableEncryption(b"x")
    )


KEYS = {
    "empty": lambda: b"",
    "a newline": lambda: b"\n",
    "31 bytes": lambda: b"a" * 31,
    "33 bytes": lambda: b"a" * 33,
    "the raw seed": lambda: forger.ROOT.seed,
    "the seed in hex": lambda: forger.ROOT.seed.hex().encode(),
    "the seed in capitals": lambda: forger.ROOT.seed.hex().upper().encode(),
    "the seed in base64": lambda: base64.b64encode(forger.ROOT.seed),
    "two keys": lambda: PEM + forger.ALICE.pem(),
    "the key twice": lambda: PEM + PEM,
    "a public key": forger.ROOT.public_pem,
    "public hex": lambda: forger.ROOT.public.encode(),
    "RSA": rsa,
    "X25519": x25519,
    "encrypted": encrypted,
    "cut": lambda: PEM[:60],
    "no END line": lambda: PEM[: PEM.index(b"-----END")],
    "another label": lambda: PEM.replace(b"PRIVATE KEY", b"EC PRIVATE KEY"),
    "DER": lambda: base64.b64decode(b"".join(PEM.splitlines()[1:-1])),
    "UTF-16": lambda: PEM.decode().encode("utf-16"),
    "JSON": lambda: json.dumps({"key": forger.ROOT.seed.hex()}).encode(),
    "NULs": lambda: bytes(200),
    "rubbish": lambda: os.urandom(200),
    "a certificate": lambda: PEM.replace(b"PRIVATE KEY", b"CERTIFICATE"),
    "1 MB of spaces": lambda: b" " * (1 << 20),
    "one bit off in its DER": lambda: PEM.replace(b"\nMC4", b"\nMC5", 1),
}


def refused(world, key):
    """No key: KEYFILE, nothing created, nothing printed of it."""
    path = good(world)
    before = snapshot(world.evidence)
    for command in (["session", "open", "--agent", "x"], ["key", "show"]):
        ran = world.json("--trust", forger.ROOT.public, "--key", key, "--ledger", path, *command)
        demand(ran.code in (2, 5), "another exit", ran)
        demand(
            ran.error.get("code") in classes("KEYFILE", "USAGE") and ran.error.get("next"),
            "another code",
            ran,
        )
        no_secret(ran)
    demand(
        snapshot(world.evidence) == before,
        "the folder was changed",
        difference(before, world.evidence),
    )
    fresh = world.made("fresh")
    if not os.path.lexists(key):
        return  # There `init` makes the key: it has none, and may have one.
    ran = world.json("--key", key, "init", cwd=fresh)
    demand(ran.code in (2, 5) and not os.listdir(fresh), "a ledger was made", ran)


SECRETS = [
    forger.ROOT.seed,
    forger.ROOT.seed.hex().encode(),
    forger.ROOT.seed.hex().upper().encode(),
    base64.b64encode(forger.ROOT.seed)[:40],
    PEM.splitlines()[1][24:60],
]


def no_secret(ran):
    for secret in SECRETS:
        demand(secret not in ran.out and secret not in ran.err, "the secret was printed", ran.argv)


for at, (what, content) in enumerate(KEYS.items()):

    def unfit(world, content=content):
        key = world.folder / "k.pem"
        private(key, content())
        refused(world, key)

    TABLE.add("L2.a%02d" % at, "a key file: " + what, unfit)
SPELLED = {
    "CRLF": lambda: PEM.replace(b"\n", b"\r\n"),
    "BOM": lambda: b"\xef\xbb\xbf" + PEM,
    "spaces after": lambda: PEM + b"   ",
    "spaces at the ends of lines": lambda: PEM.replace(b"\n", b" \n"),
    "newlines before": lambda: b"\n\n" + PEM,
    "a comment before": lambda: b"# mine\n" + PEM,
    "no newline at the end": lambda: PEM[:-1],
    "a NUL after": lambda: PEM + b"\0",
    "rubbish after": lambda: PEM + b"rubbish",
}
for at, (what, content) in enumerate(SPELLED.items()):

    def spelled(world, content=content):
        """Either the very key it is, or refused; never another one, and never in silence."""
        key = world.folder / "k.pem"
        private(key, content())
        ran = world.json("--key", key, "key", "show")
        no_secret(ran)
        if ran.code == 0:
            demand(forger.ROOT.public in ran.out.decode(), "another key", ran)
        else:
            demand(ran.code == 5 and ran.error.get("code") in classes("KEYFILE"), "another", ran)

    TABLE.add("L2.b%d" % at, "a key file with " + what, spelled)
for mode in (0o644, 0o640, 0o604, 0o660, 0o666, 0o620, 0o777, 0o601):

    def readable(world, mode=mode):
        key = world.folder / "k.pem"
        private(key, PEM, mode)
        if mode in (0o601,):
            ran = world.json("--key", key, "key", "show")
            no_secret(ran)
            return
        refused(world, key)

    TABLE.add("L2.c%o" % mode, "a key file of mode %o" % mode, readable)
ODD = {
    "a folder": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
    "/dev/zero": lambda path: path.symlink_to("/dev/zero"),
    "/dev/tty": lambda path: path.symlink_to("/dev/tty"),
    "a link to nowhere": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path),
    "nothing": lambda path: None,
    "1 GB": lambda path: (private(path, PEM), os.truncate(path, 1 << 30)),
    "64 GB": lambda path: (private(path, b""), os.truncate(path, 64 << 30)),
}
for at, (what, make) in enumerate(ODD.items()):

    def odd(world, make=make):
        key = world.folder / "k.pem"
        make(key)
        refused(world, key)

    TABLE.add("L2.d%d" % at, "a key file that is " + what, odd)


@TABLE.case("L2.e", "a key file by a symbolic link: the key, or refused; the link is left alone")
def linked_key(world):
    private(world.folder / "real.pem", PEM)
    link = world.folder / "link.pem"
    link.symlink_to(world.folder / "real.pem")
    ran = world.json("--key", link, "key", "show")
    demand(ran.code in (0, 5) and link.is_symlink(), "another answer", ran)
    no_secret(ran)


# --- L3: making keys ---
def default_key(world):
    return world.home / ".local/share/handoff/keys/default.pem"


@TABLE.case("L3.a", "a key is made 0600, in folders of nobody else's")
def modes(world):
    for mask in (0o000, 0o022, 0o077):
        home = world.made("home-%o" % mask)
        old = os.umask(mask)
        try:
            world.ok("key", "new", env={"HOME": str(home)})
        finally:
            os.umask(old)
        path = home / ".local/share/handoff/keys/default.pem"
        demand(stat.S_IMODE(path.stat().st_mode) == 0o600, "mode %o" % path.stat().st_mode)
        for folder in (path.parent, path.parent.parent):
            demand(not stat.S_IMODE(folder.stat().st_mode) & 0o022, "others may write", folder)


@TABLE.case("L3.b", "an existing key is never overwritten")
def existing(world):
    world.ok("key", "new")
    before = default_key(world).read_bytes()
    ran = world.json("key", "new")
    demand(ran.code != 0 and default_key(world).read_bytes() == before, "overwritten", ran)


for at, (what, make) in enumerate(
    (
        ("a file", lambda path: path.write_bytes(b"mine")),
        ("a link to nowhere", lambda path: path.symlink_to(path.parent.parent / "target")),
        ("a folder", lambda path: path.mkdir()),
        ("a pipe", os.mkfifo),
        ("an empty file", lambda path: path.write_bytes(b"")),
    )
):

    def in_the_way(world, make=make):
        path = default_key(world)
        path.parent.mkdir(parents=True)
        make(path)
        before = snapshot(path.parent)
        ran = world.json("key", "new")
        demand(ran.code != 0, "made over it", ran)
        changed = [one for one in difference(before, path.parent) if one != str(path.parent)]
        demand(not changed and os.listdir(path.parent) == [path.name], "it was changed", changed)
        demand(not (path.parent.parent / "target").exists(), "the link was followed")

    TABLE.add("L3.c%d" % at, "in the place of the key to be made: " + what, in_the_way)


@TABLE.case("L3.d", "many make one key at once: one does")
def at_once(world):
    children = [
        world.start(["--json", "key", "new"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in range(10)
    ]
    told = [json.loads(child.communicate(timeout=patience(30))[0]) for child in children]
    won = [one for one in told if one["exit"] == 0]
    demand(len(won) == 1, "%d keys were made" % len(won), told)
    shown = world.ok("key", "show")
    demand(shown["key"] in str(won[0]), "another key", won[0])


@TABLE.case("L3.e", "a key's making killed at any moment leaves no broken key behind")
def killed(world):
    for turn in range(30 if world.long else 10):
        home = world.made("h%d" % turn)
        child = world.start(
            ["key", "new"],
            env={"HOME": str(home)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            child.wait(timeout=0.0007 * turn + 0.001)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        path = home / ".local/share/handoff/keys/default.pem"
        if path.exists():
            demand(stat.S_IMODE(path.stat().st_mode) == 0o600, "another mode")
            ran = world.json("key", "show", env={"HOME": str(home)})
            demand(ran.code == 0, "half a key under the key's name", ran)


# --- L4: secrets ---
@TABLE.case("L4.a", "no output of any command holds the secret")
def nowhere_printed(world):
    good(world)
    common = [
        "--ledger",
        str(world.file),
        "--key",
        str(world.root_key),
        "--trust",
        forger.ROOT.public,
    ]
    for command in (
        ["key", "show"],
        ["key", "list"],
        ["verify"],
        ["state"],
        ["log"],
        ["export"],
        ["head"],
        ["session", "open", "--agent", "x"],
        ["show", "0"],
        ["nonsense"],
        ["key", "new"],
        ["probe", "--", "env"],
        [
            "probe",
            "--extract",
            "none",
            "--shell",
            "--",
            "cat /proc/$PPID/environ /proc/$PPID/cmdline",
        ],
    ):
        for form in ([], ["--json"]):
            for env in ({}, {"RUST_BACKTRACE": "full", "RUST_LOG": "trace"}):
                ran = world.run(*form, *common, *command, env=env, documented=False)
                no_secret(ran)
    data = world.file.read_bytes()
    demand(not any(secret in data for secret in SECRETS), "the secret stands in the ledger")


@TABLE.case("L4.b", "the secret is given by no variable and no word of the command line")
def not_in_words(world):
    for env in ({"HANDOFF_KEY": forger.ROOT.seed.hex()}, {"HANDOFF_KEY": PEM.decode()}):
        ran = world.json("key", "show", env=env)
        demand(ran.code != 0, "a secret in a variable is taken", ran.code)
    ran = world.json("--key", forger.ROOT.seed.hex(), "key", "show")
    demand(ran.code != 0, "a secret on the command line is taken", ran.code)


@TABLE.case("L4.c", "a secret key where a public one is asked for: refused, and not printed")
def secret_for_public(world):
    key = world.folder / "secret.pem"
    private(key, PEM)
    good(world)
    for command in (
        ["trust", "add", str(key)],
        ["verify", "--trust", str(key), "--", str(world.file)],
        [
            "--ledger",
            str(world.file),
            "--key",
            str(world.root_key),
            "key",
            "authorize",
            str(key),
            "--label",
            "x",
        ],
    ):
        ran = world.json(*command)
        no_secret(ran)
        demand(ran.code != 0, "a secret file was taken for a pin", ran)


# --- L6: surroundings ---
SURROUNDINGS = {
    "LANG=C": {"LANG": "C", "LC_ALL": "C"},
    "LANG=tr": {"LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8"},
    "TZ": {"TZ": "Asia/Kathmandu"},
    "bad TZ": {"TZ": "\x01/../../etc/passwd"},
    "NO_COLOR": {"NO_COLOR": "1"},
    "TERM=dumb": {"TERM": "dumb"},
    "no TERM": {"TERM": None},
    "CLICOLOR": {"CLICOLOR_FORCE": "1", "FORCE_COLOR": "1"},
    "COLUMNS": {"COLUMNS": "1"},
    "COLUMNS=0": {"COLUMNS": "0", "LINES": "-1"},
    "no LANG": {"LANG": None},
    "no PATH": {"PATH": None},
    "empty PATH": {"PATH": ""},
    "SQLITE": {"SQLITE_TMPDIR": "/nowhere", "SQLITE_HISTORY": "/x"},
    "MALLOC": {"MALLOC_PERTURB_": "165"},
    "no TMPDIR": {"TMPDIR": None},
}
for at, (what, env) in enumerate(SURROUNDINGS.items()):

    def surrounded(world, env=env):
        path = good(world)
        argv = ["verify", "--trust", forger.ROOT.public, "--", str(path)]
        for form in ([], ["--json"]):
            plain = world.run(*form, *argv)
            ran = world.run(*form, *argv, env=env)
            demand(ran.code == 0 and ran.out == plain.out, "other bytes", ran, plain)
        demand(b"\x1b" not in ran.out, "colour without a terminal", ran)

    TABLE.add("L6.a%02d" % at, "surroundings: " + what, surrounded)
HOMES = {
    "unset": {"HOME": None},
    "empty": {"HOME": ""},
    "relative": {"HOME": "x"},
    "nowhere": {"HOME": "/nowhere/at/all"},
    "a file": {"HOME": "/etc/hostname"},
    "/dev/null": {"HOME": "/dev/null"},
    "relative XDG": {"XDG_DATA_HOME": "x", "XDG_STATE_HOME": "y", "XDG_CONFIG_HOME": "z"},
    "XDG nowhere": {
        "XDG_DATA_HOME": "/proc/x",
        "XDG_STATE_HOME": "/proc/y",
        "XDG_CONFIG_HOME": "/proc/z",
    },
    "XDG empty": {"XDG_DATA_HOME": "", "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": ""},
}
for at, (what, env) in enumerate(HOMES.items()):

    def homeless(world, env=env):
        """Evidence can be judged without a home; what needs one says so, and makes nothing here."""
        path = good(world)
        ran = world.json("verify", "--trust", forger.ROOT.public, "--", path, env=env)
        demand(ran.code in (0, 5), "another exit", ran)
        for command in (["key", "new"], ["init"], ["state"], ["trust", "list"], ["key", "show"]):
            ran = world.json(*command, env=env)
            demand(ran.code in range(0, 7), "another exit", ran)
            demand(ran.code == 0 or ran.error.get("code"), "no reason", ran)
        made = set(os.listdir(world.project)) - {".handoff"}
        demand(not made, "made in the project", made)

    TABLE.add("L6.b%d" % at, "HOME and XDG: " + what, homeless)


@TABLE.case("L6.c", "a terminal: colour, and nothing is read from it")
def terminal(world):
    import pty
    import select

    good(world)
    master, slave = pty.openpty()
    child = world.start(
        ["verify", "--trust", forger.ROOT.public, "--", str(world.file)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    printed = b""
    while child.poll() is None or select.select([master], [], [], 0.2)[0]:
        if select.select([master], [], [], 0.2)[0]:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            printed += piece
    child.wait(timeout=patience(10))
    os.close(master)
    demand(child.returncode == 0 and b"verified" in printed, "another answer", printed)


# --- L7: folders of others ---
@TABLE.case("L7.a", "a ledger found upward in a folder of somebody else's is not used silently")
def of_another(world):
    if os.getuid() != 0:
        return
    folder = world.project / ".handoff"
    folder.mkdir()
    FULL.save(folder / "ledger.db")
    for owned in (folder / "ledger.db", folder):
        os.chown(owned, 12345, 12345)
    inner = world.project / "a/b"
    inner.mkdir(parents=True)
    before = snapshot(folder)
    for command in (["state"], ["verify"], ["session", "open", "--agent", "x"], ["head"]):
        ran = world.json(
            "--key", world.root_key, "--trust", forger.ROOT.public, *command, cwd=inner
        )
        demand(ran.code != 0, "%s used it" % command[0], ran)
    demand(snapshot(folder) == before, "it was changed")


for at, (what, make) in enumerate(
    (
        (
            "a link",
            lambda folder, world: (
                FULL.save(world.evidence / "l.db"),
                folder.mkdir(),
                (folder / "ledger.db").symlink_to(world.evidence / "l.db"),
            ),
        ),
        (
            "a link for the folder",
            lambda folder, world: (
                FULL.save(world.evidence / "ledger.db"),
                folder.symlink_to(world.evidence),
            ),
        ),
    )
):

    def by_link(world, make=make):
        make(world.project / ".handoff", world)
        before = snapshot(world.evidence)
        for command in (["state"], ["verify"], ["head"]):
            ran = world.json("--trust", forger.ROOT.public, *command)
            demand(ran.code in range(0, 7), "another exit", ran)
        demand(snapshot(world.evidence) == before, "it was changed")

    TABLE.add("L7.b%d" % at, "a ledger found by " + what, by_link)


@TABLE.case("L7.c", "a world-writable folder's ledger, and one in /tmp's parent")
def writable(world):
    folder = world.project / ".handoff"
    folder.mkdir()
    os.chmod(world.project, 0o1777)
    ran = world.json("state")
    demand(ran.code != 0, "an empty folder answers", ran)


# --- L8: init over what is there ---
for at, (what, make) in enumerate(
    (
        ("a ledger", lambda path: FULL.save(path)),
        ("text", lambda path: path.write_text("mine")),
        ("nothing in it", lambda path: path.write_bytes(b"")),
        ("a folder", lambda path: path.mkdir()),
        ("a link to nowhere", lambda path: path.symlink_to("nowhere.db")),
        ("a pipe", os.mkfifo),
        ("another database", lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(4080))),
        (
            "a link to a file",
            lambda path: (
                path.parent.joinpath("real").write_bytes(b"mine"),
                path.symlink_to("real"),
            ),
        ),
    )
):

    def init_over(world, make=make):
        folder = world.project / ".handoff"
        folder.mkdir()
        path = folder / "ledger.db"
        make(path)
        before = snapshot(folder)
        for command in (["init"], ["--ledger", str(path), "init"]):
            ran = world.json("--key", world.root_key, *command)
            demand(ran.code in (2, 3, 4, 5), "made over it", ran)
            demand(snapshot(folder) == before, "it was changed", difference(before, folder))

    TABLE.add("L8.a%d" % at, "init over " + what, init_over)
for at, suffix in enumerate(("-journal", "-wal", "-shm")):

    def init_beside(world, suffix=suffix):
        """A journal that lies where a new ledger would be must not be rolled into it."""
        folder = world.project / ".handoff"
        folder.mkdir()
        side = pathlib.Path(str(folder / "ledger.db") + suffix)
        side.write_bytes(os.urandom(2000))
        ran = world.json("--key", world.root_key, "init")
        if ran.code == 0:
            told = world.json("verify")
            demand(told.code == 0, "made, and not verified", told)
        else:
            demand(ran.error.get("code") and not (folder / "ledger.db").exists(), "half made", ran)

    TABLE.add("L8.b%d" % at, "init beside an old %s" % suffix, init_beside)


@TABLE.case("L9.control.trusted", "the unmodified L: verified, exit 0, with trust")
def control_trusted(world):
    accepted(world, good(world), COUNT, head=FULL.head_line())


@TABLE.case("L9.control.untrusted", "the unmodified L: self_consistent, exit 3, without")
def control_untrusted(world):
    told = world.verify(good(world), trust=None)
    demand(told.document["result"] == "self_consistent" and told.code == 3, "another answer", told)


@TABLE.case("L9.control.export", "the unmodified L's export: verified")
def control_export(world):
    world.file.write_bytes(FULL.export())
    accepted(world, world.file, COUNT, head=FULL.head_line())
