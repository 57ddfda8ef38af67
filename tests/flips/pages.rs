//! The pages of an SQLite file, and what is done to them (SQLite file format, sections 1.3 to 1.6).

use crate::subject::{Alteration, Part};
use std::ops::Range;

/// Length of the file's header.
const HEADER_BYTES: usize = 100;
/// Where the header says how many pages there are.
const PAGES_AT: Range<usize> = 28..32;

/// A file by its pages.
pub struct Pages<'a> {
    bytes: &'a [u8],
    size: usize,
}

impl<'a> Pages<'a> {
    /// The pages of a file.
    pub fn of(bytes: &'a [u8]) -> Pages<'a> {
        let size = match u16_at(bytes, 16) {
            1 => 65_536,
            size => size,
        };
        assert_eq!(bytes.len() % size, 0, "whole pages");
        Pages { bytes, size }
    }

    fn count(&self) -> usize {
        self.bytes.len() / self.size
    }

    fn page(&self, number: usize) -> &'a [u8] {
        &self.bytes[number * self.size..(number + 1) * self.size]
    }

    fn with(&self, what: String, number: usize, page: &[u8]) -> Alteration {
        let mut bytes = self.bytes.to_vec();
        bytes[number * self.size..(number + 1) * self.size].copy_from_slice(page);
        Alteration::Whole { what, bytes }
    }

    /// Cut at every page, as it is and with a header that says so.
    pub fn cut(&self) -> Vec<Alteration> {
        let cut = (1..self.count()).flat_map(|pages| {
            let bytes = &self.bytes[..pages * self.size];
            let what = format!("cut to {pages} pages, and the header says so");
            let length = bytes.len();
            [Alteration::Cut { length }, said(what, bytes, pages)]
        });
        cut.collect()
    }

    /// More pages than there are, which the header tells of.
    pub fn continued(&self) -> Vec<Alteration> {
        let blank = vec![0; self.size];
        let pages = self.count() + 1;
        let tails = (0..self.count())
            .map(|number| (format!("page {number}"), self.page(number)))
            .chain([("a blank page".to_owned(), blank.as_slice())]);
        let continued = tails.map(|(what, tail)| {
            let bytes = [self.bytes, tail].concat();
            said(
                format!("{what} behind it, and the header says so"),
                &bytes,
                pages,
            )
        });
        let more = [1, 2, 1000].map(|more| {
            let what = format!("the header tells of {more} pages more");
            said(what, self.bytes, self.count() + more)
        });
        continued.chain(more).collect()
    }

    /// Each two pages in each other's place, each over every other, and each blanked.
    pub fn moved(&self) -> Vec<Alteration> {
        let mut moved = Vec::new();
        for one in 0..self.count() {
            let blank = vec![0; self.size];
            moved.push(self.with(format!("page {one} blanked"), one, &blank));
            for other in (0..self.count()).filter(|other| *other != one) {
                let what = format!("page {other} over page {one}");
                moved.push(self.with(what, one, self.page(other)));
                if one < other {
                    let mut bytes = self.bytes.to_vec();
                    let (low, high) = bytes.split_at_mut(other * self.size);
                    low[one * self.size..(one + 1) * self.size]
                        .swap_with_slice(&mut high[..self.size]);
                    let what = format!("pages {one} and {other} swapped");
                    moved.push(Alteration::Whole { what, bytes });
                }
            }
        }
        moved
    }

    /// Each page of a b-tree with its last cell forgotten.
    pub fn fewer_cells(&self) -> Vec<Alteration> {
        let mut fewer = Vec::new();
        for number in 0..self.count() {
            let mut page = self.page(number).to_vec();
            let at = if number == 0 { HEADER_BYTES } else { 0 };
            let cells = u16_at(&page, at + 3);
            if [0x02, 0x05, 0x0a, 0x0d].contains(&page[at]) && cells > 0 {
                let less = u16::try_from(cells - 1).unwrap();
                page[at + 3..at + 5].copy_from_slice(&less.to_be_bytes());
                let what = format!("page {number} with one of {cells} cells less");
                fewer.push(self.with(what, number, &page));
            }
        }
        fewer
    }

    /// Each page of another file in the place of the same here, and all from there on.
    pub fn spliced(&self, other: &[u8]) -> Vec<Alteration> {
        let other = Pages::of(other);
        assert_eq!(self.size, other.size);
        let common = self.count().min(other.count());
        let mut spliced = Vec::new();
        for number in 0..common {
            let what = format!("page {number} of another file of {} pages", other.count());
            spliced.push(self.with(what, number, other.page(number)));
            // From the second page on it would be the other file itself.
            if number > 1 {
                let here = &self.bytes[..number * self.size];
                let bytes = [here, &other.bytes[number * self.size..]].concat();
                let what = format!("from page {number} on another file");
                spliced.push(said(what, &bytes, other.count()));
            }
        }
        spliced
    }
}

/// The file with its number of pages in the header.
fn said(what: String, bytes: &[u8], pages: usize) -> Alteration {
    let mut bytes = bytes.to_vec();
    let pages = u32::try_from(pages).unwrap();
    bytes[PAGES_AT].copy_from_slice(&pages.to_be_bytes());
    Alteration::Whole { what, bytes }
}

fn u16_at(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

/// What each byte of a file is part of.
pub fn regions(bytes: &[u8]) -> Vec<Part> {
    let pages = Pages::of(bytes);
    let mut parts = Vec::with_capacity(bytes.len());
    for number in 0..pages.count() {
        parts.extend(regions_of(pages.page(number), number == 0));
    }
    parts
}

fn regions_of(page: &[u8], is_first: bool) -> Vec<Part> {
    let start = if is_first { HEADER_BYTES } else { 0 };
    let header = match page[start] {
        // Leaves of an index and of a table.
        0x0a | 0x0d => 8,
        // What is above them has one pointer more.
        0x02 | 0x05 => 12,
        _ => return vec![Part::Overflow; page.len()],
    };
    let pointers = start + header;
    let gap = pointers + 2 * u16_at(page, start + 3);
    let cells = match u16_at(page, start + 5) {
        0 => 65_536,
        at => at,
    };
    let cell = if is_first {
        Part::SchemaCells
    } else {
        Part::Cells
    };
    (0..page.len())
        .map(|at| match at {
            _ if at < start => of_header(at),
            _ if at < pointers => Part::PageHeader,
            _ if at < gap => Part::CellPointers,
            _ if at < cells => Part::Unallocated,
            _ => cell,
        })
        .collect()
}

fn of_header(at: usize) -> Part {
    match at {
        // The change counter, the schema cookie, the suggested cache, and who wrote it last.
        24..28 | 40..44 | 48..52 | 92..100 => Part::FileCounters,
        72..92 => Part::FileReserved,
        _ => Part::FileHeader,
    }
}
