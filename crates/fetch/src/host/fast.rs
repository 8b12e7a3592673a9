//! Reads the host of a URL without an allocation, if the host is in its canonical form already, as in nearly all URLs.

/// The host, with its port if that is not the usual one, as a part of the URL; none if only the URL parser can tell.
pub fn plain_host(url: &str) -> Option<&str> {
    let (rest, usual) = match url.strip_prefix("https://") {
        Some(rest) => (rest, "443"),
        None => (url.strip_prefix("http://")?, "80"),
    };
    let bytes = rest.as_bytes();
    let plain = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
    let length = bytes.iter().take_while(|byte| plain(byte)).count();
    let name = &rest[..length];
    if !is_canonical(name) {
        return None;
    }
    match bytes.get(length) {
        None | Some(b'/' | b'?' | b'#') => Some(name),
        Some(b':') => {
            let digits = bytes[length + 1..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            let end = length + 1 + digits;
            let port = &rest[length + 1..end];
            let is_number = !port.starts_with('0') && port.parse::<u16>().is_ok();
            let simple = is_number && port != usual;
            let ends = matches!(bytes.get(end), None | Some(b'/' | b'?' | b'#'));
            (simple && ends).then(|| &rest[..end])
        }
        Some(_) => None,
    }
}

/// Whether a name in lower case is its own canonical form: no address, no punycode, no empty label.
fn is_canonical(name: &str) -> bool {
    let bytes = name.as_bytes();
    let last = bytes.iter().rev().take_while(|byte| **byte != b'.');
    last.last().is_some_and(u8::is_ascii_lowercase)
        && !bytes.windows(4).any(|four| four == b"xn--")
        && bytes.first() != Some(&b'.')
        && !bytes.windows(2).any(|two| two == b"..")
}
