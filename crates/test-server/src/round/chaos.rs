//! Chaos: random faults on `/r/<id>`. A seed makes them repeatable, and counts allow a comparison with a
//! client's outcomes.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher24;

/// The shares of requests for `/r/<id>` that get each fault.
///
/// Written as text: `reset=1%,stall=0.5%,500=2%`. A fault is drawn when the head of a request has been read. It happens
/// once the body has been read too, except `early`:
///
/// | name | what happens |
/// |---|---|
/// | `reset` | RST; the stream's alone over HTTP/2 |
/// | `stall` | no response |
/// | `truncate` | half of the body, then the end |
/// | `500` | status 500 |
/// | `garbage` | bytes that are not HTTP; over HTTP/2 a body shorter than its length |
/// | `close` | the end before any response; over HTTP/2 the stream is refused |
/// | `slow` | a good response in pieces with pauses |
/// | `early` | 413 at once, with `Connection: close` and the end right after it, the body unread; over HTTP/2 the end of the stream and RST_STREAM with NO_ERROR |
///
/// The fault of an id depends on the seed, the id, and how many faults that id has had: a repeated request draws
/// again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chaos {
    /// Shares by `RandomFault`, from 0 to 1, 1 at most in sum.
    shares: [f64; ALL.len()],
}

/// Why a text describes no chaos.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no share of what can go wrong; write one or more of reset=1%,stall=1%,truncate=1%,500=2%,garbage=1%,close=1%,slow=2%,early=1%, \
     100% at most in sum"
)]
pub struct ChaosError(String);

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RandomFault {
    Reset,
    Stall,
    Truncate,
    Error,
    Garbage,
    Close,
    Slow,
    Early,
}

const ALL: [(&str, RandomFault); 8] = [
    ("reset", RandomFault::Reset),
    ("stall", RandomFault::Stall),
    ("truncate", RandomFault::Truncate),
    ("500", RandomFault::Error),
    ("garbage", RandomFault::Garbage),
    ("close", RandomFault::Close),
    ("slow", RandomFault::Slow),
    ("early", RandomFault::Early),
];

/// Most ids whose faults are remembered. An id that was forgotten draws as if it came for the first time.
const MOST_REMEMBERED: usize = 1 << 22;

/// The requests with one kind of fault.
///
/// Count and both sums identify the ids and how often each came. A client that sums up its own ids sees any difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dealt {
    /// How many requests.
    pub count: u64,
    /// Sum of their ids, modulo 2^64.
    pub ids: u64,
    /// Sum of the squares of their ids, modulo 2^64.
    pub squares: u64,
}

/// Draws the faults and counts them.
pub(crate) struct Dealer {
    shares: [f64; ALL.len()],
    hasher: SipHasher24,
    /// The number of faults that each id has had.
    before: RefCell<HashMap<u64, u32>>,
    good: Cell<Dealt>,
    /// Streams above the last one that GOAWAY had named, and requests after the last response of their connection.
    unprocessed: Cell<Dealt>,
    dealt: [Cell<Dealt>; ALL.len()],
}

impl FromStr for Chaos {
    type Err = ChaosError;

    fn from_str(text: &str) -> Result<Chaos, ChaosError> {
        let wrong = || ChaosError(text.to_owned());
        let mut chaos = Chaos::default();
        for part in text.split(',') {
            let (name, share) = part.trim().split_once('=').ok_or_else(wrong)?;
            let at = ALL.iter().position(|(known, _)| *known == name);
            let share = share.strip_suffix('%').and_then(|text| text.parse().ok());
            let share = share.filter(|share: &f64| (0.0..=100.0).contains(share));
            let (at, share) = at.zip(share).ok_or_else(wrong)?;
            chaos.shares[at] = share / 100.0;
        }
        if chaos.shares.iter().sum::<f64>() > 1.0 + 1e-9 {
            return Err(wrong());
        }
        Ok(chaos)
    }
}

impl fmt::Display for Chaos {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = ALL
            .iter()
            .zip(self.shares)
            .filter(|(_, share)| *share > 0.0);
        let parts: Vec<_> = parts
            .map(|((name, _), share)| format!("{name}={}%", share * 100.0))
            .collect();
        formatter.write_str(&parts.join(","))
    }
}

impl Dealer {
    pub(crate) fn new(chaos: &Chaos, seed: u64) -> Dealer {
        Dealer {
            shares: chaos.shares,
            hasher: SipHasher24::new_with_keys(seed, 0x6861_7661_6f63), // Independent of the delays' random numbers.
            before: RefCell::default(),
            good: Cell::default(),
            unprocessed: Cell::default(),
            dealt: Default::default(),
        }
    }

    /// Draws the fault of a request for that id, after its head has been read; none for most.
    pub(crate) fn deal(&self, id: u64) -> Option<RandomFault> {
        let mut before = self.before.borrow_mut();
        let times = before.get(&id).copied().unwrap_or(0);
        let Some(at) = self.draw(id, times) else {
            self.good.set(self.good.get().and(id));
            return None;
        };
        self.dealt[at].set(self.dealt[at].get().and(id));
        if times > 0 || before.len() < MOST_REMEMBERED {
            before.insert(id, times + 1);
        }
        Some(ALL[at].1)
    }

    fn draw(&self, id: u64, times: u32) -> Option<usize> {
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&id.to_le_bytes());
        bytes[8..].copy_from_slice(&times.to_le_bytes());
        let mut point = self.hasher.hash(&bytes) as f64 / u64::MAX as f64;
        self.shares.iter().position(|share| {
            point -= share;
            point < 0.0
        })
    }

    /// Counts a request for that id that is not processed.
    pub(crate) fn unprocessed(&self, id: u64) {
        self.unprocessed.set(self.unprocessed.get().and(id));
    }

    /// The faults so far, by name; `good` means none.
    pub(crate) fn summary(&self) -> BTreeMap<String, Dealt> {
        let named = ALL.iter().zip(&self.dealt);
        let mut summary: BTreeMap<_, _> = named
            .map(|((name, _), dealt)| ((*name).to_owned(), dealt.get()))
            .collect();
        summary.insert("good".to_owned(), self.good.get());
        summary.insert("unprocessed".to_owned(), self.unprocessed.get());
        summary
    }
}

impl Dealt {
    fn and(self, id: u64) -> Dealt {
        Dealt {
            count: self.count + 1,
            ids: self.ids.wrapping_add(id),
            squares: self.squares.wrapping_add(id.wrapping_mul(id)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_read_and_written() {
        let chaos: Chaos = "reset=1%, 500=2.5%,slow=10%".parse().unwrap();
        assert_eq!(chaos.to_string(), "reset=1%,500=2.5%,slow=10%");
        assert_eq!(chaos.to_string().parse(), Ok(chaos));
        for text in [
            "",
            "reset",
            "reset=1",
            "reset=-1%",
            "reset=x%",
            "rest=1%",
            "reset=60%,slow=50%",
        ] {
            let error = text.parse::<Chaos>().unwrap_err().to_string();
            assert!(error.contains("reset=1%,stall=1%"), "{error}");
        }
    }

    #[test]
    fn one_seed_draws_equal_faults_and_about_the_given_shares() {
        let chaos = "reset=10%,stall=20%".parse().unwrap();
        let deal = |seed| {
            let dealer = Dealer::new(&chaos, seed);
            let dealt: Vec<_> = (0..10_000).map(|id| dealer.deal(id)).collect();
            (dealt, dealer.summary())
        };
        let (dealt, summary) = deal(1);
        assert_eq!(dealt, deal(1).0);
        assert_ne!(dealt, deal(2).0);
        assert!((800..1200).contains(&summary["reset"].count), "{summary:?}");
        assert!(
            (1700..2300).contains(&summary["stall"].count),
            "{summary:?}"
        );
        let all = |field: fn(&Dealt) -> u64| summary.values().map(field).sum::<u64>();
        assert_eq!(all(|dealt| dealt.count), 10_000);
        assert_eq!(all(|dealt| dealt.ids), (0..10_000).sum::<u64>());
        assert_eq!(
            all(|dealt| dealt.squares),
            (0..10_000).map(|id| id * id).sum::<u64>()
        );
    }

    #[test]
    fn a_request_that_is_repeated_draws_again() {
        let dealer = Dealer::new(&"close=50%".parse().unwrap(), 7);
        let tries = |id| (0..64).find(|_| dealer.deal(id).is_none());
        assert!((0..100).all(|id| tries(id).is_some()));
    }
}
