//! Which files the system itself can start.
//!
//! Where it refuses a file as of no known format, the C library hands the file to a shell
//! (POSIX.1-2024, execvp), which then runs whatever of it reads as a command. Nobody asked for
//! that, so such a file is told beforehand, by what the system would look at (execve(2),
//! elf(5); Linux's binfmt_script.c and binfmt_elf.c).

use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How much of a file's beginning the system looks at (`BINPRM_BUF_SIZE`).
const HEAD_BYTES: u64 = 256;
/// How many scripts may be each other's interpreters before the system gives up by itself.
const SCRIPTS_MAX: usize = 6;
const SCRIPT: &[u8] = b"#!";
const IMAGE: &[u8] = b"\x7fELF";
/// Where an ELF header holds its class, type and machine, the same in both classes.
const CLASS_AT: usize = 4;
const TYPE_AT: usize = 16;
const MACHINE_AT: usize = 18;
/// A program at fixed addresses, and one at any (`ET_EXEC`, `ET_DYN`).
const TYPES: [u16; 2] = [2, 3];

/// Errors by which the system says something of the program it was to start, or of the path to it
/// (execve(2)), so that it would say so again.
const OF_PROGRAM: [Errno; 9] = [
    // No such program, or no such interpreter.
    Errno::NOENT,
    Errno::NOTDIR,
    Errno::LOOP,
    Errno::NAMETOOLONG,
    // No right to run it, or its file system is mounted without that.
    Errno::ACCESS,
    // No known format; two interpreters; one that is a folder; one of no known format.
    Errno::NOEXEC,
    Errno::INVAL,
    Errno::ISDIR,
    Errno::LIBBAD,
];

/// Whether an error says something of the program rather than of the machine at that moment.
///
/// Of the machine are what it ran out of (EAGAIN, EMFILE, ENFILE, ENOMEM, ENOSPC, EUSERS) and
/// what failed (EIO, ESTALE, EFAULT); that somebody is writing the program just now (ETXTBSY);
/// that the environment is too large for this process's limits (E2BIG); that this process may not
/// start any, or not with such rights (EPERM); and whatever is not known. Nothing is signed of
/// those.
pub(super) fn speaks_of_program(error: &io::Error) -> bool {
    Errno::from_io_error(error).is_some_and(|errno| OF_PROGRAM.contains(&errno))
}

/// Whether the system can start the file at `path`, as far as its format tells: an image of this
/// machine's, or a script whose interpreter, looked for from `directory`, is one or another such
/// script. What may not be read, or has no such interpreter, is for the system to refuse.
///
/// Formats that were added to a system (Linux's binfmt_misc) count as none: whether one is
/// there shall not decide between the program and a shell.
///
/// # Errors
/// What kept a file from being read.
pub(super) fn is_loadable(path: &Path, directory: &Path) -> io::Result<bool> {
    let mut path = path.to_owned();
    for _ in 0..SCRIPTS_MAX {
        let (begins, length) = match beginning(&path) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(true),
            Err(error) if speaks_of_program(&error) => return Ok(true),
            Err(error) => return Err(error),
        };
        if !begins.starts_with(SCRIPT) {
            return Ok(is_image(&begins, length));
        }
        match interpreter(&begins) {
            Some(name) => path = directory.join(OsStr::from_bytes(name)),
            None => return Ok(false),
        }
    }
    Ok(true)
}

/// The beginning of a regular file, and its length; `None` of anything else, which might block
/// whoever opens it.
fn beginning(path: &Path) -> io::Result<Option<(Vec<u8>, u64)>> {
    let found = std::fs::metadata(path)?;
    if !found.is_file() {
        return Ok(None);
    }
    let mut begins = Vec::new();
    File::open(path)?
        .take(HEAD_BYTES)
        .read_to_end(&mut begins)?;
    Ok(Some((begins, found.len())))
}

/// The interpreter that a script's first line names; `None` if it names none, or is cut off in
/// the midst of its name.
fn interpreter(begins: &[u8]) -> Option<&[u8]> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let rest = begins.strip_prefix(SCRIPT)?;
    let start = rest.iter().position(|byte| !is_blank(byte))?;
    let name = rest.get(start..)?;
    let end = name
        .iter()
        .position(|byte| is_blank(byte) || matches!(byte, b'\n' | 0));
    let is_all = u64::try_from(begins.len()).is_ok_and(|length| length < HEAD_BYTES);
    let end = end.or(is_all.then_some(name.len()))?;
    name.get(..end).filter(|name| !name.is_empty())
}

/// Whether a file of `length` bytes is an image for this machine, its table of segments whole.
fn is_image(begins: &[u8], length: u64) -> bool {
    if !cfg!(target_os = "linux") {
        // Other systems have other images; text is none anywhere.
        return begins.contains(&0);
    }
    begins.starts_with(IMAGE) && is_for_this_machine(begins) && has_segments(begins, length)
}

fn is_for_this_machine(begins: &[u8]) -> bool {
    let is_ours = |machine| match machines() {
        [] => true,
        machines => machines.contains(&machine),
    };
    field(begins, TYPE_AT).is_some_and(|found| TYPES.contains(&u16::from_ne_bytes(found)))
        && field(begins, MACHINE_AT).is_some_and(|found| is_ours(u16::from_ne_bytes(found)))
}

/// The machines whose images this one runs, as `e_machine` numbers them: its own and the one of
/// the other word length; none if this program does not know.
fn machines() -> &'static [u16] {
    match std::env::consts::ARCH {
        "x86" | "x86_64" => &[3, 62],
        "arm" | "aarch64" => &[40, 183],
        "riscv32" | "riscv64" => &[243],
        "powerpc" | "powerpc64" => &[20, 21],
        "s390x" => &[22],
        _ => &[],
    }
}

/// Whether there are segments, of the length that the class has, all described within the file.
fn has_segments(begins: &[u8], length: u64) -> bool {
    // Where the table begins, how long an entry is, how many there are.
    let (offset, entry, expected, count) = match begins.get(CLASS_AT) {
        Some(1) => {
            let offset = field(begins, 28).map(|found| u64::from(u32::from_ne_bytes(found)));
            (offset, field(begins, 42), 32, field(begins, 44))
        }
        Some(2) => {
            let offset = field(begins, 32).map(u64::from_ne_bytes);
            (offset, field(begins, 54), 56, field(begins, 56))
        }
        Some(_) | None => return false,
    };
    let (Some(offset), Some(entry), Some(count)) = (offset, entry, count) else {
        return false;
    };
    let (entry, count) = (u16::from_ne_bytes(entry), u16::from_ne_bytes(count));
    let table = u64::from(entry) * u64::from(count);
    let end = offset.checked_add(table);
    entry == expected && count > 0 && end.is_some_and(|end| end <= length)
}

fn field<const N: usize>(begins: &[u8], at: usize) -> Option<[u8; N]> {
    begins.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_loadable_as(bytes: &[u8]) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        std::fs::write(&path, bytes).unwrap();
        is_loadable(&path, folder.path()).unwrap()
    }

    /// The first page of this test's own image.
    fn own_image() -> Vec<u8> {
        let mut image = Vec::new();
        let program = File::open(std::env::current_exe().unwrap()).unwrap();
        program.take(4096).read_to_end(&mut image).unwrap();
        image
    }

    /// This test's own image with other bytes at a place of its header.
    fn altered(at: usize, bytes: &[u8]) -> Vec<u8> {
        let mut image = own_image();
        image[at..at + bytes.len()].copy_from_slice(bytes);
        image
    }

    #[test]
    fn an_error_speaks_of_the_program_or_of_the_machine() {
        for errno in OF_PROGRAM {
            assert!(speaks_of_program(&errno.into()), "{errno}");
        }
        for errno in [
            Errno::AGAIN,
            Errno::MFILE,
            Errno::NFILE,
            Errno::NOMEM,
            Errno::NOSPC,
            Errno::USERS,
            Errno::IO,
            Errno::STALE,
            Errno::FAULT,
            Errno::TXTBSY,
            Errno::TOOBIG,
            Errno::PERM,
        ] {
            assert!(!speaks_of_program(&errno.into()), "{errno}");
        }
        assert!(!speaks_of_program(&io::ErrorKind::UnexpectedEof.into()));
    }

    #[test]
    fn what_is_neither_an_image_nor_a_script_is_not_loadable() {
        let zeros = [0; 200];
        let dotted: Vec<u8> = b"echo run\n".iter().chain(&zeros).copied().collect();
        for bytes in [
            b"".as_slice(),
            b"\n",
            b"echo run\n",
            b" #!/bin/sh\n",
            b"\xef\xbb\xbf#!/bin/sh\n",
            b"#",
            b"MZ\0\0",
            &zeros,
            &dotted,
        ] {
            assert!(!is_loadable_as(bytes), "{bytes:?}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn an_image_that_is_cut_off_or_of_another_machine_is_not_loadable() {
        let image = own_image();
        assert!(is_loadable_as(&image));
        for length in [4, 5, 16, 18, 20, 52, 63, 64, 65, 200] {
            assert!(!is_loadable_as(&image[..length]), "{length}");
        }
        for (at, bytes) in [
            (CLASS_AT, [9, 1]),
            (TYPE_AT, [1, 0]),
            (MACHINE_AT, [2, 0]),
            (54, [1, 0]),
            (56, [0, 0]),
        ] {
            assert!(!is_loadable_as(&altered(at, &bytes)), "{at}");
        }
        assert!(!is_loadable_as(&altered(32, &u64::MAX.to_ne_bytes())));
    }

    #[test]
    fn a_script_is_loadable_if_its_interpreter_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("text"), "echo run\n").unwrap();
        std::fs::write(path("good"), "#!/bin/sh\n").unwrap();
        std::fs::write(path("loop"), "#!loop\n").unwrap();
        let long = format!("#!/{}\n", "x".repeat(300));
        for (first_line, expected) in [
            ("#!/bin/sh", true),
            ("#! \t/bin/sh -e\n", true),
            ("#!/bin/sh\0", true),
            ("#!good\n", true),
            ("#!text\n", false),
            ("#!\n/bin/sh\n", false),
            ("#!", false),
            ("#!  \t \n", false),
            ("#!\0/bin/sh\n", false),
            (&long, false),
            // The system says so itself.
            ("#!/no/such/interpreter\n", true),
            ("#!loop\n", true),
            ("#!/\n", true),
        ] {
            std::fs::write(path("script"), first_line).unwrap();
            let found = is_loadable(&path("script"), folder.path()).unwrap();
            assert_eq!(found, expected, "{first_line:?}");
        }
    }
}
