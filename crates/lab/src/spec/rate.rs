//! A rate at which requests are sent, as people write it: `500`, `80%`, `poisson:500`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Most requests per second.
const MOST: u32 = 1_000_000;

/// Most percent of a client's own speed.
const MOST_PERCENT: u32 = 200;

/// How many requests are sent in a second, whether or not those before them have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rate {
    /// How many.
    pub amount: Amount,
    /// How they follow each other.
    pub arrivals: Arrivals,
}

/// How many requests per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Amount {
    /// The same for every client.
    PerSecond(u32),
    /// So many percent of what the client itself does in the closed loop, with the same number of connections.
    Percent(u32),
}

/// How requests follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arrivals {
    /// At equal distances.
    Constant,
    /// At distances drawn by chance, as the requests of many independent users.
    Poisson,
}

impl Rate {
    /// The same arrivals at one request a second: what rates have in common that differ in the amount alone.
    #[must_use]
    pub fn of_any_amount(self) -> Rate {
        Rate {
            amount: Amount::PerSecond(1),
            ..self
        }
    }

    /// When the requests of a round at so many per second are due: microseconds after its begin.
    pub fn offsets_us(self, per_second: f64, count: u64) -> Vec<u64> {
        let gap = 1e6 / per_second;
        match self.arrivals {
            Arrivals::Constant => (0..count)
                .map(|position| (position as f64 * gap) as u64)
                .collect(),
            // A Poisson process with a known number of arrivals: each is at any time of the round with the same
            // probability. Drawn distances would also draw how long the round lasts, and with it the rate.
            Arrivals::Poisson => {
                let time = gap * count as f64;
                let mut all: Vec<u64> = (0..count)
                    .map(|_| (rand::random::<f64>() * time) as u64)
                    .collect();
                all.sort_unstable();
                all
            }
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.arrivals == Arrivals::Poisson {
            f.write_str("poisson:")?;
        }
        match self.amount {
            Amount::PerSecond(number) => write!(f, "{number}"),
            Amount::Percent(number) => write!(f, "{number}%"),
        }
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Rate, String> {
        let wrong = || {
            format!(
                "`{text}` is not a rate; write requests per second, as in 500, a share of the client's own speed, as in 80%, or \
                 poisson:500 for arrivals drawn by chance"
            )
        };
        let (arrivals, rest) = match text.strip_prefix("poisson:") {
            Some(rest) => (Arrivals::Poisson, rest),
            None => (Arrivals::Constant, text),
        };
        let number = |text: &str, most| {
            let number = text.parse().ok();
            number.filter(|number| (1..=most).contains(number))
        };
        let amount = match rest.strip_suffix('%') {
            Some(percent) => number(percent, MOST_PERCENT).map(Amount::Percent),
            None => number(rest, MOST).map(Amount::PerSecond),
        };
        Ok(Rate {
            amount: amount.ok_or_else(wrong)?,
            arrivals,
        })
    }
}

as_text!(Rate, {
    "description": "Requests per second, as in `500`; percent of the client's own speed, as in `80%`; `poisson:` before either.",
    "type": "string",
    "pattern": "^(poisson:)?[0-9]+%?$",
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_written_as_they_are_read() {
        for text in ["500", "80%", "poisson:500", "poisson:95%"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
        for wrong in [
            "", "0", "0%", "-5", "1.5", "201%", "fast", "poisson:", "2000000",
        ] {
            let error = wrong.parse::<Rate>().unwrap_err();
            assert!(error.contains("80%"), "{error}");
        }
    }

    #[test]
    fn requests_are_due_at_equal_distances_or_at_drawn_ones_with_the_same_mean() {
        let constant: Rate = "500".parse().unwrap();
        assert_eq!(constant.offsets_us(500.0, 3), [0, 2000, 4000]);
        let poisson: Rate = "poisson:500".parse().unwrap();
        let drawn = poisson.offsets_us(500.0, 10_000);
        assert!(drawn.is_sorted());
        // However few, they take the time of their rate and no more.
        for _ in 0..1000 {
            assert!(*poisson.offsets_us(500.0, 5).last().unwrap() <= 10_000);
        }
        // One distance in e is longer than the mean distance; six deviations of 10,000 draws are 0.03.
        let long = drawn.windows(2).filter(|pair| pair[1] - pair[0] > 2000);
        let share = long.count() as f64 / 10_000.0;
        assert!((share - (-1f64).exp()).abs() < 0.03, "{share}");
    }
}
