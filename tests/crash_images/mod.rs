//! What a power cut may leave behind: a recorded run of system calls is replayed up to any point,
//! and of what was not yet synced there, each write is kept, dropped or torn, and each entry of a
//! folder made, or not.
//!
//! The model is the strict one of POSIX: syncing a file keeps its bytes, not its name; a name is
//! kept by syncing its folder. Writes between two syncs reach the disk in any order, by sectors.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests are tests, and each test uses a part of them"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The calls that are recorded.
pub const RECORDED: &str = "open,openat,close,write,pwrite64,ftruncate,fsync,fdatasync,unlink,\
                            unlinkat,rename,renameat,renameat2,link,linkat,mkdir,mkdirat";

/// What an acknowledgement has in it when it is written to standard output.
pub const ACKNOWLEDGES: &str = "\"schema\":\"handoff.";

type Inode = usize;

/// One recorded call that matters.
#[derive(Debug, Clone)]
pub enum Op {
    Write(Inode, usize, Vec<u8>),
    Truncate(Inode, usize),
    SyncFile(Inode),
    SyncFolder(PathBuf),
    Link(PathBuf, Node),
    Unlink(PathBuf),
    Rename(PathBuf, PathBuf),
    /// An answer was written: what it tells is acknowledged from here on.
    Acknowledge,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node {
    File(Inode),
    Folder,
}

/// Makes calls of strace's lines. Only what is below `roots` counts.
pub struct Reader {
    roots: Vec<PathBuf>,
    cwd: PathBuf,
    names: BTreeMap<PathBuf, Node>,
    inodes: usize,
    open: BTreeMap<String, (Handle, usize)>,
}

#[derive(Debug, Clone)]
enum Handle {
    File(Inode),
    Folder(PathBuf),
}

impl Reader {
    /// A reader that knows what lies below `roots` now, and the disk that holds it.
    pub fn of(roots: &[PathBuf], cwd: &Path) -> (Reader, Disk) {
        let mut reader = Reader {
            roots: roots.to_vec(),
            cwd: cwd.to_owned(),
            names: BTreeMap::new(),
            inodes: 0,
            open: BTreeMap::new(),
        };
        let mut disk = Disk {
            roots: roots.iter().cloned().collect(),
            ..Disk::default()
        };
        for root in roots {
            reader.take_in(root, &mut disk);
        }
        (reader, disk)
    }

    fn take_in(&mut self, path: &Path, disk: &mut Disk) {
        let node = if path.is_dir() {
            Node::Folder
        } else {
            let inode = self.new_inode();
            let content = std::fs::read(path).unwrap();
            disk.files.insert(inode, Content::durable(content));
            Node::File(inode)
        };
        self.names.insert(path.to_owned(), node);
        disk.durable.insert(path.to_owned(), node);
        if node == Node::Folder {
            for entry in std::fs::read_dir(path).unwrap() {
                self.take_in(&entry.unwrap().path(), disk);
            }
        }
    }

    fn new_inode(&mut self) -> Inode {
        self.inodes += 1;
        self.inodes
    }

    /// The calls of one process's log.
    pub fn read(&mut self, log: &str) -> Vec<Op> {
        self.open.clear();
        log.lines()
            .filter_map(|line| self.call(line))
            .flatten()
            .collect()
    }

    fn call(&mut self, line: &str) -> Option<Vec<Op>> {
        let (call, rest) = line.split_once('(')?;
        let call = call.rsplit(' ').next()?;
        let (arguments, result) = rest.rsplit_once(" = ")?;
        let arguments = arguments.trim_end().strip_suffix(')')?;
        let result = result.split([' ', '<']).next()?;
        if result.starts_with('-') || result == "?" {
            return None;
        }
        let texts = texts(arguments);
        let path = |at: usize| texts.get(at).map(|text| self.path_of(text));
        let descriptor = || {
            arguments
                .split([',', ')'])
                .next()
                .unwrap()
                .trim()
                .to_owned()
        };
        match call {
            "open" | "openat" => Some(self.opens(path(0)?, arguments, result)),
            "close" => {
                self.open.remove(&descriptor());
                None
            }
            "write" => self.writes(&descriptor(), &texts, result, None),
            "pwrite64" => {
                let offset = arguments.rsplit(", ").next()?.parse().ok()?;
                self.writes(&descriptor(), &texts, result, Some(offset))
            }
            "ftruncate" => {
                let length = arguments.rsplit(", ").next()?.parse().ok()?;
                match self.open.get(&descriptor())? {
                    (Handle::File(inode), _) => Some(vec![Op::Truncate(*inode, length)]),
                    (Handle::Folder(_), _) => None,
                }
            }
            "fsync" | "fdatasync" => match self.open.get(&descriptor())? {
                (Handle::File(inode), _) => Some(vec![Op::SyncFile(*inode)]),
                (Handle::Folder(path), _) => Some(vec![Op::SyncFolder(path.clone())]),
            },
            "unlink" | "unlinkat" => {
                let path = path(0)?;
                self.names.remove(&path)?;
                Some(vec![Op::Unlink(path)])
            }
            "rename" | "renameat" | "renameat2" => {
                let (from, to) = (path(0)?, path(1)?);
                assert_eq!(from.parent(), to.parent(), "a rename across folders");
                let node = self.names.remove(&from)?;
                self.names.insert(to.clone(), node);
                Some(vec![Op::Rename(from, to)])
            }
            "link" | "linkat" => {
                let (from, to) = (path(0)?, path(1)?);
                let node = *self.names.get(&from)?;
                self.names.insert(to.clone(), node);
                Some(vec![Op::Link(to, node)])
            }
            "mkdir" | "mkdirat" => {
                let path = path(0)?;
                self.is_below(&path).then(|| {
                    self.names.insert(path.clone(), Node::Folder);
                    vec![Op::Link(path, Node::Folder)]
                })
            }
            _ => None,
        }
    }

    fn path_of(&self, text: &[u8]) -> PathBuf {
        self.cwd.join(String::from_utf8(text.to_vec()).unwrap())
    }

    fn is_below(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    fn opens(&mut self, path: PathBuf, arguments: &str, result: &str) -> Vec<Op> {
        let mut ops = Vec::new();
        if !self.is_below(&path) {
            self.open.remove(result);
            return ops;
        }
        let known = self.names.get(&path).copied();
        let node = known.unwrap_or_else(|| {
            assert!(
                arguments.contains("O_CREAT"),
                "{} came from nowhere",
                path.display()
            );
            let node = Node::File(self.new_inode());
            self.names.insert(path.clone(), node);
            ops.push(Op::Link(path.clone(), node));
            node
        });
        let handle = match node {
            Node::File(inode) => {
                if arguments.contains("O_TRUNC") {
                    ops.push(Op::Truncate(inode, 0));
                }
                Handle::File(inode)
            }
            Node::Folder => Handle::Folder(path),
        };
        self.open.insert(result.to_owned(), (handle, 0));
        ops
    }

    fn writes(
        &mut self,
        descriptor: &str,
        texts: &[Vec<u8>],
        result: &str,
        offset: Option<usize>,
    ) -> Option<Vec<Op>> {
        let written = result.parse::<usize>().ok()?;
        let data = texts.first()?.get(..written)?.to_vec();
        let Some((handle, position)) = self.open.get_mut(descriptor) else {
            let told = String::from_utf8_lossy(&data).contains(ACKNOWLEDGES);
            return told.then(|| vec![Op::Acknowledge]);
        };
        let Handle::File(inode) = handle else {
            return None;
        };
        let at = offset.unwrap_or_else(|| {
            let at = *position;
            *position += written;
            at
        });
        Some(vec![Op::Write(*inode, at, data)])
    }
}

/// The texts in quotation marks, which strace's -xx gives as hexadecimal bytes.
fn texts(arguments: &str) -> Vec<Vec<u8>> {
    let quoted = arguments.split('"').skip(1).step_by(2);
    let byte = |digits: &str| u8::from_str_radix(digits, 16).unwrap();
    quoted
        .map(|text| text.split("\\x").skip(1).map(byte).collect())
        .collect()
}

/// A file's bytes: those on the disk, and what is on its way there.
#[derive(Debug, Clone, Default)]
struct Content {
    durable: Vec<u8>,
    pending: Vec<Change>,
}

#[derive(Debug, Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

impl Content {
    fn durable(durable: Vec<u8>) -> Content {
        let pending = Vec::new();
        Content { durable, pending }
    }

    fn with(&self, chance: &mut Chance) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        for change in &self.pending {
            match change {
                Change::Truncate(length) => {
                    if chance.keeps_data() {
                        bytes.resize(*length, 0);
                    }
                }
                Change::Write(at, data) => write(&mut bytes, *at, data, chance),
            }
        }
        bytes
    }
}

/// Writes those sectors of `data` that chance keeps.
fn write(bytes: &mut Vec<u8>, at: usize, data: &[u8], chance: &mut Chance) {
    let whole = chance.keeps_data();
    let sector = match (chance.policy, whole) {
        (Policy::Random { sector, .. }, false) if chance.one_in(2) => sector,
        (_, true) => usize::MAX,
        (_, false) => return,
    };
    let mut from = 0;
    while from < data.len() {
        let to = match sector {
            usize::MAX => data.len(),
            sector => (((at + from) / sector + 1) * sector - at).min(data.len()),
        };
        if sector == usize::MAX || chance.one_in(2) {
            if bytes.len() < at + to {
                // What was never written holds whatever lay there.
                let filler = chance.filler();
                bytes.resize(at + to, filler);
            }
            bytes[at + from..at + to].copy_from_slice(&data[from..to]);
        }
        from = to;
    }
}

/// The disk: what is on it, and what is on its way there.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    /// Folders that were there all along.
    roots: BTreeSet<PathBuf>,
    durable: BTreeMap<PathBuf, Node>,
    /// Changes of each folder's entries since it was synced, in order.
    pending: BTreeMap<PathBuf, Vec<Op>>,
    files: BTreeMap<Inode, Content>,
}

/// What becomes of that which was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// All of it is there: only the processes died.
    All,
    /// Nothing is.
    Nothing,
    /// The names are and the bytes are not.
    Names,
    /// The bytes are and the names are not.
    Bytes,
    /// Some of it is, by sectors of so many bytes.
    Random { seed: u64, sector: usize },
}

/// Decides by a policy.
struct Chance {
    policy: Policy,
    state: u64,
}

impl Chance {
    fn of(policy: Policy) -> Chance {
        let state = match policy {
            Policy::Random { seed, .. } => seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            Policy::All | Policy::Nothing | Policy::Names | Policy::Bytes => 1,
        };
        Chance { policy, state }
    }

    /// Xorshift: the same images in every run.
    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state >> 11
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.next().is_multiple_of(many)
    }

    fn keeps_data(&mut self) -> bool {
        match self.policy {
            Policy::All | Policy::Bytes => true,
            Policy::Nothing | Policy::Names => false,
            Policy::Random { .. } => self.one_in(2),
        }
    }

    /// How many of a folder's changes are on the disk: file systems keep their order.
    fn kept_names(&mut self, pending: usize) -> usize {
        match self.policy {
            Policy::All | Policy::Names => pending,
            Policy::Nothing | Policy::Bytes => 0,
            Policy::Random { .. } => usize::try_from(self.next()).unwrap() % (pending + 1),
        }
    }

    fn filler(&mut self) -> u8 {
        let garbage = matches!(self.policy, Policy::Random { .. }) && self.one_in(2);
        if garbage { 0xa5 } else { 0 }
    }
}

impl Disk {
    /// Makes one call.
    pub fn apply(&mut self, op: &Op) {
        match op {
            Op::Write(inode, at, data) => {
                let change = Change::Write(*at, data.clone());
                self.files.entry(*inode).or_default().pending.push(change);
            }
            Op::Truncate(inode, length) => {
                let change = Change::Truncate(*length);
                self.files.entry(*inode).or_default().pending.push(change);
            }
            Op::SyncFile(inode) => {
                let content = self.files.entry(*inode).or_default();
                let synced = content.with(&mut Chance::of(Policy::All));
                *content = Content::durable(synced);
            }
            Op::SyncFolder(path) => {
                for op in self.pending.remove(path).unwrap_or_default() {
                    rename(&mut self.durable, &op);
                }
            }
            Op::Link(path, _) | Op::Unlink(path) | Op::Rename(path, _) => {
                let folder = path.parent().unwrap().to_owned();
                self.pending.entry(folder).or_default().push(op.clone());
            }
            Op::Acknowledge => {}
        }
    }

    /// What a power cut now leaves: the files by name, and the folders.
    pub fn image(&self, policy: Policy) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut chance = Chance::of(policy);
        let mut names = self.durable.clone();
        for pending in self.pending.values() {
            let kept = chance.kept_names(pending.len());
            for op in &pending[..kept] {
                rename(&mut names, op);
            }
        }
        let contents: BTreeMap<Inode, Vec<u8>> = self
            .files
            .iter()
            .map(|(inode, content)| (*inode, content.with(&mut chance)))
            .collect();
        let reachable = |path: &Path| {
            let mut folders = path.ancestors().take_while(|it| !self.roots.contains(*it));
            folders.all(|folder| names.contains_key(folder))
        };
        names
            .iter()
            .filter(|(path, _)| reachable(path))
            .map(|(path, node)| {
                let content = match node {
                    Node::File(inode) => Some(contents.get(inode).cloned().unwrap_or_default()),
                    Node::Folder => None,
                };
                (path.clone(), content)
            })
            .collect()
    }
}

/// Makes one change to the names.
fn rename(names: &mut BTreeMap<PathBuf, Node>, op: &Op) {
    match op {
        Op::Link(path, node) => {
            names.insert(path.clone(), *node);
        }
        Op::Unlink(path) => {
            names.remove(path);
        }
        Op::Rename(from, to) => {
            if let Some(node) = names.remove(from) {
                names.insert(to.clone(), node);
            }
        }
        Op::Write(..)
        | Op::Truncate(..)
        | Op::SyncFile(_)
        | Op::SyncFolder(_)
        | Op::Acknowledge => {}
    }
}
