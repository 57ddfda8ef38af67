//! Which files hold a usable key, and how one is made.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests are tests"
)]

use handoff_ledger::home::key_text::{Half, KeyKind, KeyTextError};
use handoff_ledger::home::keys::{
    KEY_FILE_BYTES_MAX, KeyFileError, create, default_path, list, path_of, read, read_public,
    resolve,
};
use handoff_ledger::home::{FileError, FileKind};
use handoff_ledger::key::{KeyFault, SigningKey};
use handoff_ledger::types::parse_hex;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const V1: &str = include_str!("keys/ed25519-pkcs8-v1.pem");
const V2: &str = include_str!("keys/ed25519-pkcs8-v2.pem");
const OPENSSH: &str = include_str!("keys/ed25519-openssh.pem");
const PUBLIC_PEM: &str = include_str!("keys/ed25519-public.pem");

const SEED: &str = "930120bf356f8ceed054681338200b80f2eb7e65d09f7dea5a36bd4bde1f63e4";
const PUBLIC: &str = "5a7f1723bedadc9807f62d28f5893204ac2cc1b0cbe9162eb2f4f40c955a9d98";
const OPENSSH_PUBLIC: &str = "ca833e616cc55ee89a1a2938d2098f1c8e08a71e8f1683d7638fec4c79c5b639";
const OPENSSH_LINE: &str = "ssh-ed25519 \
    AAAAC3NzaC1lZDI1NTE5AAAAIMqDPmFsxV7omhopONIJjxyOCKcejxaD12OP7Ex5xbY5 who@where";

fn scratch() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    (folder, path)
}

fn put(path: &Path, bytes: &[u8], mode: u32) {
    fs::write(path, bytes).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn seed() -> [u8; 32] {
    parse_hex(SEED).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn read_text(text: &[u8]) -> Result<SigningKey, KeyTextError> {
    let (_guard, top) = scratch();
    put(&top.join("k"), text, 0o600);
    match read(&top.join("k")) {
        Ok(key) => Ok(key),
        Err(KeyFileError::Text { fault, .. }) => Err(fault),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_new_key_is_pkcs8_for_its_owner_alone_and_reads_back() {
    let (_guard, top) = scratch();
    let path = default_path(&top.join("data/keys"));
    let made = create(&path, seed()).unwrap();
    assert_eq!(made.public().to_string(), PUBLIC);
    assert_eq!(fs::read_to_string(&path).unwrap(), V1);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    assert_eq!(read(&path).unwrap().public(), made.public());
    assert_eq!(names(path.parent().unwrap()), ["default.pem"]);
}

#[test]
fn a_key_is_never_overwritten() {
    let (_guard, top) = scratch();
    let path = top.join("k.pem");
    symlink(top.join("nowhere"), top.join("dangling.pem")).unwrap();
    put(&path, b"precious", 0o600);
    for taken in ["k.pem", "dangling.pem"] {
        let refused = create(&top.join(taken), seed()).unwrap_err();
        let exists = matches!(refused, KeyFileError::File(FileError::Exists { .. }));
        assert!(exists, "{refused}");
    }
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    assert_eq!(names(&top).len(), 2);
}

#[test]
fn of_keys_made_at_once_one_is_made() {
    let (_guard, top) = scratch();
    let path = top.join("k.pem");
    let made: Vec<SigningKey> = std::thread::scope(|scope| {
        let place = path.as_path();
        let makers: Vec<_> = (0..8)
            .map(|byte| scope.spawn(move || create(place, [byte; 32]).ok()))
            .collect();
        let outcomes = makers.into_iter().map(|maker| maker.join().unwrap());
        outcomes.flatten().collect()
    });
    let [winner] = made.as_slice() else {
        panic!("{made:?}");
    };
    assert_eq!(read(&path).unwrap().public(), winner.public());
    assert_eq!(names(&top), ["k.pem"]);
}

#[test]
fn keys_of_other_tools_are_read() {
    for (text, public) in [(V1, PUBLIC), (V2, PUBLIC), (OPENSSH, OPENSSH_PUBLIC)] {
        let key = read_text(text.as_bytes()).unwrap();
        assert_eq!(key.public().to_string(), public);
        assert!(read_text(text.trim_end().as_bytes()).is_ok());
    }
}

/// `cryptography` writes lines of 76 characters, OpenSSH of 70, RFC 7468 asks for 64.
#[test]
fn an_openssh_key_is_read_however_wide_its_lines_are() {
    let lines: Vec<&str> = OPENSSH.lines().collect();
    let (begin, body, end) = (
        lines[0],
        lines[1..lines.len() - 1].concat(),
        lines[lines.len() - 1],
    );
    let wrapped = |width: usize| {
        let parts: Vec<&str> = (0..body.len())
            .step_by(width)
            .map(|start| &body[start..body.len().min(start + width)])
            .collect();
        format!("{begin}\n{}\n{end}\n", parts.join("\n"))
    };
    assert_eq!(wrapped(70), OPENSSH);
    for width in [64, 70, 76, body.len()] {
        let key = read_text(wrapped(width).as_bytes()).unwrap();
        assert_eq!(key.public().to_string(), OPENSSH_PUBLIC, "{width}");
    }
    let uneven = wrapped(70).replacen(
        &body[60..70],
        &format!("{}\n{}", &body[60..65], &body[65..70]),
        1,
    );
    for text in [
        wrapped(10),
        wrapped(63),
        wrapped(75),
        uneven,
        format!("{begin}\n{end}\n"),
    ] {
        assert_eq!(
            read_text(text.as_bytes()).err(),
            Some(KeyTextError::Broken),
            "{text}"
        );
    }
    let other = include_str!("keys/ed25519-openssh-cryptography.pem");
    assert!(other.lines().nth(1).is_some_and(|line| line.len() == 76));
    assert_eq!(
        read_text(other.as_bytes()).unwrap().public().to_string(),
        PUBLIC
    );
}

#[test]
fn a_key_that_others_could_replace_is_refused() {
    let (_guard, top) = scratch();
    let path = top.join("k.pem");
    put(&path, V1.as_bytes(), 0o600);
    for mode in [0o770, 0o707, 0o720, 0o702, 0o777] {
        fs::set_permissions(&top, Permissions::from_mode(mode)).unwrap();
        let refused = read(&path).unwrap_err();
        assert!(
            matches!(refused, KeyFileError::ExposedFolder { .. }),
            "{mode:o}: {refused}"
        );
        assert!(
            refused.next().starts_with("chmod go-w "),
            "{}",
            refused.next()
        );
    }
    // Where only owners rename and remove, as in /tmp, nobody else can.
    for mode in [0o1777, 0o755, 0o700] {
        fs::set_permissions(&top, Permissions::from_mode(mode)).unwrap();
        assert!(read(&path).is_ok(), "{mode:o}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_process_that_has_read_a_key_is_not_dumped() {
    let (_guard, top) = scratch();
    put(&top.join("k.pem"), V1.as_bytes(), 0o600);
    read(&top.join("k.pem")).unwrap();
    let behavior = rustix::process::dumpable_behavior().unwrap();
    assert_eq!(behavior, rustix::process::DumpableBehavior::NotDumpable);
}

#[test]
fn halves_that_do_not_belong_together_never_sign() {
    let public_changed = V2.replace("gSEAWn8X", "gSEAWn8Y");
    let seed_changed = V2.replace("BCIEIJMB", "BCIEIJMC");
    let openssh_changed = OPENSSH.replace("AAAED2E5NThZN8", "AAAED2E5NThZN9");
    for (text, changed) in [
        (V2, public_changed),
        (V2, seed_changed),
        (OPENSSH, openssh_changed),
    ] {
        assert_ne!(text, changed);
        let refused = read_text(changed.as_bytes()).unwrap_err();
        assert!(matches!(refused, KeyTextError::Halves { .. }), "{refused}");
    }
}

#[test]
fn what_is_no_secret_ed25519_key_is_told_by_its_kind() {
    let kind = |text: &str, found| {
        let expected = Half::Secret;
        let refused = read_text(text.as_bytes()).unwrap_err();
        assert_eq!(refused, KeyTextError::Kind { expected, found }, "{text}");
    };
    kind(include_str!("keys/encrypted-pkcs8.pem"), KeyKind::Encrypted);
    kind(
        include_str!("keys/encrypted-openssh.pem"),
        KeyKind::Encrypted,
    );
    kind(include_str!("keys/rsa-pkcs1.pem"), KeyKind::OtherSecret);
    kind(include_str!("keys/rsa-pkcs8.pem"), KeyKind::OtherSecret);
    kind(include_str!("keys/p256-pkcs8.pem"), KeyKind::OtherSecret);
    kind(include_str!("keys/x25519-pkcs8.pem"), KeyKind::OtherSecret);
    kind(include_str!("keys/p256-openssh.pem"), KeyKind::OtherSecret);
    kind(PUBLIC_PEM, KeyKind::PublicPem);
    kind(OPENSSH_LINE, KeyKind::PublicSsh);
    kind(SEED, KeyKind::Hex);
    kind(&SEED.to_uppercase(), KeyKind::Hex);
    kind("", KeyKind::Unknown);
    kind(&"k".repeat(31), KeyKind::Unknown);
    kind(&"k".repeat(33), KeyKind::Unknown);
    kind("-----BEGIN CERTIFICATE-----\n", KeyKind::Unknown);
}

#[test]
fn a_key_is_read_strictly() {
    let refused = |text: String, expected: KeyTextError| {
        assert_eq!(
            read_text(text.as_bytes()).unwrap_err(),
            expected,
            "{text:?}"
        );
    };
    for key in [V1, V2, OPENSSH] {
        refused(key.replace('\n', "\r\n"), KeyTextError::NotPlain);
        refused(format!("\u{feff}{key}"), KeyTextError::NotPlain);
        refused(format!("{key}\0"), KeyTextError::NotPlain);
        refused(key.replacen('\n', " \n", 1), KeyTextError::TrailingSpace);
        refused(format!("{key}{key}"), KeyTextError::Several { found: 2 });
        refused(format!("{key}\n"), KeyTextError::Surplus);
        refused(format!("{key}# mine\n"), KeyTextError::Surplus);
        for end in "-----BEGIN".len()..key.len() - 1 {
            assert!(read_text(&key.as_bytes()[..end]).is_err(), "{end} bytes");
        }
    }
    refused(V1.replace("MC4CAQ", "MC4CAg"), KeyTextError::Broken);
    refused(V1.replace("H2Pk", "H2P"), KeyTextError::Broken);
    assert!(read_text(format!("preamble\n{V1}").as_bytes()).is_err());
}

#[test]
fn a_key_that_others_can_reach_is_refused() {
    let (_guard, top) = scratch();
    let path = top.join("k.pem");
    for mode in [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644, 0o777] {
        put(&path, V1.as_bytes(), mode);
        let refused = read(&path).unwrap_err();
        assert!(matches!(refused, KeyFileError::Exposed { .. }), "{mode:o}");
        assert!(refused.next().starts_with("chmod 600 "));
    }
    put(&path, V1.as_bytes(), 0o400);
    assert!(read(&path).is_ok());
}

#[test]
fn only_a_regular_file_of_fit_size_is_read() {
    let (_guard, top) = scratch();
    put(&top.join("real"), V1.as_bytes(), 0o600);
    symlink(top.join("real"), top.join("link")).unwrap();
    let fifo = rustix::fs::FileType::Fifo;
    let owner = rustix::fs::Mode::RWXU;
    rustix::fs::mknodat(rustix::fs::CWD, top.join("pipe"), fifo, owner, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(top.join("socket")).unwrap();
    for (path, kind) in [
        (top.clone(), FileKind::Folder),
        (top.join("link"), FileKind::Link),
        (top.join("pipe"), FileKind::Pipe),
        (PathBuf::from("/dev/zero"), FileKind::Device),
    ] {
        let refused = read(&path).unwrap_err();
        let KeyFileError::File(FileError::NotRegular { found, .. }) = refused else {
            panic!("{refused}");
        };
        assert_eq!(found, kind);
    }
    assert!(matches!(
        read(&top.join("socket")),
        Err(KeyFileError::File(_))
    ));
    let huge = File::create(top.join("huge")).unwrap();
    for bytes in [KEY_FILE_BYTES_MAX + 1, 1 << 30] {
        huge.set_len(bytes).unwrap();
        let refused = read(&top.join("huge")).unwrap_err();
        let large = matches!(refused, KeyFileError::File(FileError::TooLarge { .. }));
        assert!(large, "{refused}");
    }
    let absent = read(&top.join("absent")).unwrap_err();
    assert_eq!(absent.next(), "handoff key new");
}

#[test]
fn a_key_has_no_place_in_a_ledgers_folder() {
    let (_guard, top) = scratch();
    let holder = top.join("repo/.handoff");
    fs::create_dir_all(&holder).unwrap();
    fs::create_dir(top.join("plain")).unwrap();
    fs::write(top.join("plain/ledger.db"), "").unwrap();
    symlink(&holder, top.join("link")).unwrap();
    let before = names(&holder);
    for place in [
        "repo/.handoff",
        "repo/.handoff/keys/new",
        "link",
        "link/new",
        "plain",
    ] {
        let refused = create(&top.join(place).join("k.pem"), seed()).unwrap_err();
        let in_ledger = matches!(refused, KeyFileError::InLedger { .. });
        assert!(in_ledger, "{place}: {refused}");
    }
    assert_eq!(names(&holder), before);
    put(&holder.join("k.pem"), V1.as_bytes(), 0o600);
    let refused = read(&holder.join("k.pem"));
    assert!(matches!(refused, Err(KeyFileError::InLedger { .. })));
    assert!(create(&top.join("repo/k.pem"), seed()).is_ok());
}

#[test]
fn keys_are_listed_by_label_with_what_is_wrong() {
    let (_guard, top) = scratch();
    assert!(list(&top.join("absent")).unwrap().is_empty());
    create(&top.join("b.pem"), seed()).unwrap();
    put(&top.join("a.pem"), b"junk", 0o600);
    put(&top.join("notes.txt"), b"", 0o600);
    put(&top.join(".new-x"), b"", 0o600);
    let listed = list(&top).unwrap();
    let labels: Vec<_> = listed.iter().map(|key| key.label.as_str()).collect();
    assert_eq!(labels, ["a", "b"]);
    let usable: Vec<_> = listed.iter().map(|key| key.public.is_ok()).collect();
    assert_eq!(usable, [false, true]);
}

#[test]
fn a_key_is_named_by_path_or_by_label() {
    let (_guard, top) = scratch();
    let given = |text: &'static str| resolve(Some(OsStr::new(text)), &top);
    assert_eq!(resolve(None, &top).unwrap(), top.join("default.pem"));
    assert_eq!(given("").unwrap(), top.join("default.pem"));
    assert_eq!(given("./agent").unwrap(), Path::new("./agent"));
    assert_eq!(given("/k/agent.pem").unwrap(), Path::new("/k/agent.pem"));
    let refused = given("agent").unwrap_err();
    assert!(matches!(refused, KeyFileError::NoKey { .. }), "{refused}");
    create(&top.join("agent.pem"), seed()).unwrap();
    assert_eq!(given("agent").unwrap(), top.join("agent.pem"));
    // Tests run in the package's folder, which has this file.
    assert_eq!(given("Cargo.toml").unwrap(), Path::new("Cargo.toml"));
    let nested = "team/agent".parse().unwrap();
    assert_eq!(path_of(&top, &nested), None);
}

#[test]
fn a_public_key_is_read_from_text_or_file() {
    let (_guard, top) = scratch();
    let path = top.join("k");
    let read = |text: &str| read_public(OsStr::new(text)).map(|key| key.to_string());
    assert_eq!(read(PUBLIC).unwrap(), PUBLIC);
    assert_eq!(read(OPENSSH_LINE).unwrap(), OPENSSH_PUBLIC);
    for (text, public) in [
        (PUBLIC, PUBLIC),
        (&format!("{PUBLIC}\n"), PUBLIC),
        (PUBLIC_PEM, PUBLIC),
        (OPENSSH_LINE, OPENSSH_PUBLIC),
        (&format!("{OPENSSH_LINE} \u{e4}\n"), OPENSSH_PUBLIC),
    ] {
        put(&path, text.as_bytes(), 0o644);
        assert_eq!(read_public(path.as_os_str()).unwrap().to_string(), public);
    }
    symlink(&path, top.join("link")).unwrap();
    assert!(read_public(top.join("link").as_os_str()).is_ok());
    let absent = read_public(top.join("absent").as_os_str());
    assert!(matches!(absent, Err(KeyFileError::File(_))));
}

#[test]
fn what_is_no_fit_public_key_is_refused() {
    let (_guard, top) = scratch();
    let path = top.join("k");
    let rsa = include_str!("keys/rsa-openssh.pub");
    let x25519 = PUBLIC_PEM.replace("K2Vw", "K2Vu");
    for text in [
        V1,
        OPENSSH,
        include_str!("keys/encrypted-pkcs8.pem"),
        rsa,
        &x25519,
        &PUBLIC.to_uppercase(),
        &PUBLIC[1..],
        &format!("{PUBLIC}\r\n"),
        &format!("{PUBLIC} "),
        &format!("0x{PUBLIC}"),
        &format!("{PUBLIC}\n{PUBLIC}\n"),
        &format!("{OPENSSH_LINE}\n{OPENSSH_LINE}\n"),
        &format!("{PUBLIC_PEM}{PUBLIC_PEM}"),
        &format!("{PUBLIC_PEM}x"),
        "ssh-ed25519",
        "ssh-ed25519 AAAA",
        "",
    ] {
        put(&path, text.as_bytes(), 0o600);
        let refused = read_public(path.as_os_str()).unwrap_err();
        assert!(
            matches!(refused, KeyFileError::Text { .. }),
            "{text:?}: {refused}"
        );
    }
    let small = read_public(OsStr::new(&"00".repeat(32))).unwrap_err();
    let KeyFileError::Given(fault) = small else {
        panic!("{small}");
    };
    assert_eq!(fault, KeyFault::SmallOrder.into());
}

#[test]
fn no_refusal_tells_a_secret() {
    let (_guard, top) = scratch();
    let path = top.join("k");
    let secret = "JMBIL81b4zu0FRoEzggC4Dy635l0J996lo2vUveH2Pk";
    assert!(V1.contains(secret));
    for text in [
        format!("{V1}{V1}"),
        format!("{V1}x"),
        V1.replace("MC4C", "MC5C"),
        V2.replace("gSEAWn8X", "gSEAWn8Y"),
        SEED.to_owned(),
    ] {
        put(&path, text.as_bytes(), 0o600);
        let mut told = String::new();
        for refused in [
            read(&path).map(drop),
            read_public(path.as_os_str()).map(drop),
        ] {
            if let Err(error) = refused {
                told += &format!("{error} {error:?} {}", error.next());
            }
        }
        assert!(!told.is_empty());
        assert!(!told.contains(secret) && !told.contains(SEED), "{told}");
    }
}
