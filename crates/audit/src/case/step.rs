//! Steps: what the server does with an attempt of a call, each a line of text such as `send HTTP/1.1 200 OK…`.

use std::time::Duration;

use serde::Deserialize;

/// A step of the server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Step {
    /// Whether this is what the case is about.
    pub fault: bool,
    /// What is done.
    pub deed: Deed,
}

/// The server's action in a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Sends a whole response with this body, and keeps the connection open.
    Fine(String),
    /// Sends bytes.
    Send(String),
    /// Sends bytes that are written in hexadecimal digits, over HTTP/3 on the stream.
    SendHex(Vec<u8>),
    /// Sends so many zeros, as gzip.
    Zeros(usize),
    /// Sends bytes one at a time, with a pause after each.
    Drip(Duration, String),
    /// Sends a text so many times.
    Flood(usize, String),
    /// Waits.
    Pause(Duration),
    /// Waits until the client has returned from the call, or 3 s are over.
    Returned,
    /// Waits until the client closes the connection.
    Hold,
    /// Neither reads nor sends anything until the run is over.
    Stuck,
    /// Closes the sending half of the connection, over HTTP/3 that of the stream.
    HalfClose,
    /// Closes the connection with FIN.
    Close,
    /// Closes the connection with RST.
    Reset,
    /// Does not read the body of the request, and stops reading.
    Deaf,
    /// Nothing: the fault is in the call itself.
    Read,
    /// Closes the connection with FIN, but TLS without its `close_notify`.
    Cut,
    /// Reads the body of the request without sending `100 Continue`.
    Mute,
    /// Reads the body of the request, which `deaf` did not.
    Drain,
    /// Waits until so many attempts of the call have arrived, or 3 s are over.
    Gather(usize),
    /// Over HTTP/2: waits until the client has acknowledged a PING, or 3 s are over.
    Pinged,
    /// Over HTTP/3: resets the stream in both directions, with this code.
    ResetStream(u32),
    /// Over HTTP/2 and 3: sends the head of a response, and whether that ends the stream.
    Head(String, bool),
    /// Over HTTP/2 and 3: sends a part of the body, and whether it is the last one.
    Data(String, bool),
    /// Over HTTP/2 and 3: sends a frame so many times.
    Frame(usize, Frame),
    /// Over HTTP/2: sends whole responses to all streams of the connection that are open.
    FineAll,
}

/// A frame of HTTP/2 or HTTP/3 as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its type.
    pub kind: u8,
    /// Its flags. HTTP/3 has none.
    pub flags: u8,
    /// Its stream: a number, or the one of the attempt. Over HTTP/3 each number stands for the control stream.
    pub stream: Option<u32>,
    /// Its payload in hexadecimal digits. `{this}` is the attempt's stream, `{before}` the one
    /// before it, and `{x1000}` the letter x a thousand times.
    payload: String,
}

impl Frame {
    /// The payload on a stream.
    pub fn payload(&self, stream: u32) -> Vec<u8> {
        let text = self.payload.replace("{this}", &format!("{stream:08x}"));
        let before = stream.saturating_sub(2);
        let text = text.replace("{before}", &format!("{before:08x}"));
        let text = text.replace("{x1000}", &"78".repeat(1000));
        bytes(&text).unwrap_or_default()
    }

    /// `TYPE FLAGS STREAM PAYLOAD`, all but the stream in hexadecimal digits.
    fn parse(text: &str) -> Option<Frame> {
        let mut words = text.splitn(4, ' ');
        let kind = u8::from_str_radix(words.next()?, 16).ok()?;
        let flags = u8::from_str_radix(words.next()?, 16).ok()?;
        let stream = match words.next()? {
            "this" => None,
            number => Some(number.parse().ok()?),
        };
        let payload = words.next().unwrap_or_default().to_owned();
        let frame = Frame {
            kind,
            flags,
            stream,
            payload,
        };
        let names = ["{this}", "{before}", "{x1000}"];
        let filled = names
            .iter()
            .fold(frame.payload.clone(), |text, name| text.replace(name, ""));
        bytes(&filled).map(|_| frame)
    }
}

/// The fields of a head: the status, unless it is empty, and behind it words such as `name=value`.
pub fn head_fields(text: &str) -> Vec<(&str, &str)> {
    let mut words = text.split(' ');
    let mut fields = vec![(":status", words.next().unwrap_or_default())];
    fields.retain(|(_, status)| !status.is_empty());
    fields.extend(words.filter_map(|word| word.split_once('=')));
    fields
}

/// The values of names in braces, which only a run knows.
#[derive(Clone, Debug, Default)]
pub struct Addresses {
    /// The URL of the call.
    pub here: String,
    /// The same path on another host.
    pub other_host: String,
    /// The same path on another port of the same host.
    pub other_port: String,
    /// The same path over TLS.
    pub tls: String,
    /// The same path over TLS on another port, where the certificate is good.
    pub tls_good: String,
    /// The same path on a host that has a name, which the call's `hosts` say the addresses of.
    pub named: String,
    /// Host and port of the proxy.
    pub proxy: String,
    /// Host and port, and the path of the call.
    pub authority: String,
    /// The path of the call.
    pub path: String,
}

impl Addresses {
    /// Replaces the names in braces.
    pub fn fill(&self, text: &str) -> String {
        text.replace("{here}", &self.here)
            .replace("{other-host}", &self.other_host)
            .replace("{other-port}", &self.other_port)
            .replace("{tls}", &self.tls)
            .replace("{tls-good}", &self.tls_good)
            .replace("{named}", &self.named)
            .replace("{proxy}", &self.proxy)
            .replace("{authority}", &self.authority)
            .replace("{path}", &self.path)
            .replace("{kb}", &"x".repeat(1000))
            .replace("{4mb}", &"x".repeat(4 << 20))
    }
}

impl Step {
    /// A whole response.
    pub fn fine() -> Step {
        Step {
            fault: false,
            deed: Deed::Fine("ok".into()),
        }
    }
}

/// The deeds that a word alone says.
const WORDS: [(&str, Deed); 13] = [
    ("returned", Deed::Returned),
    ("hold", Deed::Hold),
    ("stuck", Deed::Stuck),
    ("half-close", Deed::HalfClose),
    ("close", Deed::Close),
    ("reset", Deed::Reset),
    ("deaf", Deed::Deaf),
    ("read", Deed::Read),
    ("cut", Deed::Cut),
    ("mute", Deed::Mute),
    ("drain", Deed::Drain),
    ("pinged", Deed::Pinged),
    ("ok-all", Deed::FineAll),
];

impl TryFrom<String> for Step {
    type Error = String;

    fn try_from(text: String) -> Result<Step, String> {
        let (fault, rest) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text.as_str()),
        };
        let (word, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let wrong = || format!("`{text}` is not a step");
        let number = |rest: &str| -> Result<(u64, String), String> {
            let (number, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            Ok((number.parse().map_err(|_| wrong())?, rest.to_owned()))
        };
        let deed = match word {
            "ok" if rest.is_empty() => Deed::Fine("ok".into()),
            "ok" => Deed::Fine(rest.to_owned()),
            "send" => Deed::Send(rest.to_owned()),
            "send-hex" => Deed::SendHex(bytes(rest).ok_or_else(wrong)?),
            "drip" => number(rest).map(|(ms, text)| Deed::Drip(Duration::from_millis(ms), text))?,
            "flood" => number(rest).map(|(times, text)| Deed::Flood(times as usize, text))?,
            "gzip-zeros" => Deed::Zeros(number(rest)?.0 as usize),
            "pause" => Deed::Pause(Duration::from_millis(number(rest)?.0)),
            "gather" => Deed::Gather(number(rest)?.0 as usize),
            "head" | "head-end" => Deed::Head(rest.to_owned(), word == "head-end"),
            "data" | "data-end" => Deed::Data(rest.to_owned(), word == "data-end"),
            "reset-stream" => {
                let code = u32::from_str_radix(rest, 16).map_err(|_| wrong())?;
                Deed::ResetStream(code)
            }
            "frame" => Deed::Frame(1, Frame::parse(rest).ok_or_else(wrong)?),
            "frames" => {
                let (times, rest) = number(rest)?;
                Deed::Frame(times as usize, Frame::parse(&rest).ok_or_else(wrong)?)
            }
            _ => match WORDS.iter().find(|(known, _)| *known == word) {
                Some((_, deed)) => deed.clone(),
                None => return Err(wrong()),
            },
        };
        Ok(Step { fault, deed })
    }
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let pairs = digits.chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair)
            .ok()
            .filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(text: &str) -> Step {
        Step::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn a_step_is_a_word_and_what_it_needs() {
        assert_eq!(step("ok").deed, Deed::Fine("ok".into()));
        assert!(step("!close").fault);
        assert_eq!(step("returned").deed, Deed::Returned);
        assert_eq!(step("send-hex 1f 8b").deed, Deed::SendHex(vec![0x1f, 0x8b]));
        assert_eq!(
            step("drip 20 abc").deed,
            Deed::Drip(Duration::from_millis(20), "abc".into())
        );
        for wrong in ["", "sleep", "pause", "pause x", "send-hex 1f8"] {
            assert!(Step::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
