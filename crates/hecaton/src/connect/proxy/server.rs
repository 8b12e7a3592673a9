//! One proxy: what its URL says.

use std::fmt;
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use url::Url;

use super::Forward;

/// The port of SOCKS when the URL names none (RFC 1928 §3).
const SOCKS_PORT: u16 = 1080;

/// A proxy.
pub(crate) struct Server {
    pub speech: Speech,
    /// An IPv6 address without brackets.
    pub host: String,
    pub port: u16,
}

/// What it is spoken to in.
pub(crate) enum Speech {
    Http(Arc<Forward>),
    Socks {
        /// Whether names are resolved there.
        names: bool,
        /// User and password, each of 1 to 255 bytes.
        credentials: Option<(Vec<u8>, Vec<u8>)>,
    },
}

impl fmt::Debug for Server {
    /// Without credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Server {
    /// `scheme://user:password@host:port`; without scheme, `http`. The reason never shows the URL, in
    /// which there may be credentials.
    pub fn parse(url: &str) -> Result<Server, String> {
        let whole = match url.contains("://") {
            true => url.to_owned(),
            false => format!("http://{url}"),
        };
        let url = Url::parse(&whole).map_err(|error| format!("it is not a URL: {error}"))?;
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or("its URL has no host")?;
        if !matches!(url.path(), "" | "/") || url.query().is_some() {
            return Err("its URL has a path, which a proxy can not have".into());
        }
        let default_port = match url.scheme() {
            "http" => 80,
            _ => SOCKS_PORT,
        };
        Ok(Server {
            speech: speech(&url)?,
            host: host
                .trim_start_matches('[')
                .trim_end_matches(']')
                .to_ascii_lowercase(),
            port: url.port().unwrap_or(default_port),
        })
    }
}

fn speech(url: &Url) -> Result<Speech, String> {
    let decoded = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
    let given = !url.username().is_empty() || url.password().is_some();
    let credentials = given.then(|| {
        let password = url.password().unwrap_or_default();
        (decoded(url.username()), decoded(password))
    });
    match url.scheme() {
        "http" => match &credentials {
            Some((user, _)) if user.contains(&b':') => {
                Err("its user name has a colon in it (RFC 7617 §2)".into())
            }
            _ => Ok(Speech::Http(Arc::new(Forward::new(credentials)))),
        },
        "socks5" | "socks5h" => {
            let fits = |part: &[u8]| (1..=255).contains(&part.len());
            match &credentials {
                Some((user, password)) if !fits(user) || !fits(password) => {
                    let why =
                        "its user name and password must be 1 to 255 bytes each (RFC 1929 §2)";
                    Err(why.into())
                }
                _ => Ok(Speech::Socks {
                    names: url.scheme() == "socks5h",
                    credentials,
                }),
            }
        }
        "https" => Err(
            "a proxy that is itself asked over TLS is not supported: use http, through \
             which https URLs go in a tunnel"
                .into(),
        ),
        other => Err(format!(
            "its URL has the scheme {other:?}: use http, socks5 or socks5h"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        Server::parse(url).unwrap_err()
    }

    #[test]
    fn a_url_says_where_it_is_and_what_it_speaks() {
        let server = Server::parse("http://Proxy.example:3128").unwrap();
        assert_eq!((server.host.as_str(), server.port), ("proxy.example", 3128));
        assert!(matches!(server.speech, Speech::Http(_)));
        let server = Server::parse("proxy:8080").unwrap();
        assert_eq!((server.host.as_str(), server.port), ("proxy", 8080));
        let server = Server::parse("socks5://[::1]").unwrap();
        assert_eq!((server.host.as_str(), server.port), ("::1", 1080));
        assert!(matches!(
            server.speech,
            Speech::Socks {
                names: false,
                credentials: None
            }
        ));
        let server = Server::parse("socks5h://us%3aer:p%40ss@host:1").unwrap();
        let Speech::Socks {
            names: true,
            credentials: Some((user, password)),
        } = server.speech
        else {
            panic!("SOCKS with credentials");
        };
        assert_eq!(
            (user.as_slice(), password.as_slice()),
            (&b"us:er"[..], &b"p@ss"[..])
        );
    }

    #[test]
    fn what_can_not_be_used_is_refused_without_a_secret() {
        for (url, word) in [
            ("https://u:secret@h", "TLS"),
            ("ftp://u:secret@h", "ftp"),
            ("http://u:secret@", "URL"),
            ("http://u:secret@h/path", "path"),
            ("http://u%3a:secret@h", "colon"),
            ("socks5://u:@h", "255"),
            ("http://u:secret@h:99999", "URL"),
        ] {
            let why = refusal(url);
            assert!(why.contains(word), "no {word:?} in: {why}");
            assert!(!why.contains("secret"), "{why}");
        }
        let server = Server::parse("http://u:secret@h:1").unwrap();
        assert_eq!(format!("{server:?}"), "h:1");
    }

    proptest::proptest! {
        #[test]
        fn no_url_panics(url in "\\PC{0,40}|(http|socks5h?)://[a-z%:@\\[\\]0-9./?]{0,30}") {
            let _ = Server::parse(&url);
        }
    }
}
