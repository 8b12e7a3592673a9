//! The server that an attempt reached: its part of a record, and `Hecaton::Native::Certificates` for the certificates,
//! which are seldom read.
//!
//! Layout of the part. Integers are little-endian. First come the two ends, the peer and then this one. An end is a
//! kind (u8), a length (u16) and bytes. Kind 0 is none. Kinds 4 and 6 are an address: its port (u16), its bytes, and
//! for IPv6 its scope (u32). Kind 1 is the path of a Unix socket. Then come the number of texts (u8), 0 without TLS and
//! else 3, and the texts, each with its length (u8): version, cipher, and protocol (ALPN).
//!
//! A server's certificates have some thousand bytes, and most programs never look at them. They stay in the engine's
//! memory, which all responses on a connection share, and the record has an object that leads to them.

use std::net::{SocketAddr, SocketAddrV4};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, OnceLock};

use hecaton::{Attempt, Endpoint};
use magnus::typed_data::Obj;
use magnus::value::{LazyId, Opaque, ReprValue};
use magnus::{Error, Module, Object, RArray, RModule, RString, Ruby, function, method};

/// Appends the facts of an attempt.
pub fn add(record: &mut Vec<u8>, attempt: &Attempt) {
    match (attempt.peer(), attempt.local()) {
        // Put together first, because a Vec checks its capacity at each step, and most connections are such.
        (Some(Endpoint::Ip(SocketAddr::V4(peer))), Some(Endpoint::Ip(SocketAddr::V4(local)))) => {
            let mut ends = [0; 2 * IPV4];
            ends[..IPV4].copy_from_slice(&ipv4(peer));
            ends[IPV4..].copy_from_slice(&ipv4(local));
            record.extend_from_slice(&ends);
        }
        (peer, local) => {
            add_end(record, peer);
            add_end(record, local);
        }
    }
    let Some(tls) = attempt.tls() else {
        record.push(0);
        return;
    };
    record.push(3);
    for text in [
        tls.version,
        &tls.cipher,
        tls.alpn.as_deref().unwrap_or_default(),
    ] {
        // None of them can be longer: ALPN has one byte for its length.
        let length = u8::try_from(text.len()).unwrap_or(0);
        record.push(length);
        record.extend_from_slice(&text.as_bytes()[..length.into()]);
    }
}

fn add_end(record: &mut Vec<u8>, end: Option<&Endpoint>) {
    match end {
        None => record.extend_from_slice(&[0; 3]),
        Some(Endpoint::Ip(SocketAddr::V4(address))) => record.extend_from_slice(&ipv4(address)),
        Some(Endpoint::Ip(SocketAddr::V6(address))) => {
            add_head(record, 6, 22);
            record.extend_from_slice(&address.port().to_le_bytes());
            record.extend_from_slice(&address.ip().octets());
            record.extend_from_slice(&address.scope_id().to_le_bytes());
        }
        Some(Endpoint::Unix(path)) => {
            let path = path.as_os_str().as_bytes();
            add_head(record, 1, path.len());
            record.extend_from_slice(path);
        }
    }
}

/// Bytes of an end that is an address of IPv4.
const IPV4: usize = 9;

fn ipv4(address: &SocketAddrV4) -> [u8; IPV4] {
    let ([low, high], [a, b, c, d]) = (address.port().to_le_bytes(), address.ip().octets());
    [4, 6, 0, low, high, a, b, c, d]
}

/// The system's paths of sockets are far shorter than 2^16 bytes.
fn add_head(record: &mut Vec<u8>, kind: u8, length: usize) {
    record.push(kind);
    record.extend_from_slice(&(length as u16).to_le_bytes());
}

/// The certificates of a request's attempts.
#[magnus::wrap(
    class = "Hecaton::Native::Certificates",
    free_immediately,
    size,
    frozen_shareable
)]
struct Certificates(Vec<Option<Arc<[Vec<u8>]>>>);

impl Certificates {
    /// The certificates of the attempt with this index, as Strings in DER.
    fn of(ruby: &Ruby, this: &Certificates, attempt: usize) -> RArray {
        let all = this.0.get(attempt).and_then(Option::as_deref);
        let all = all.unwrap_or_default();
        ruby.ary_from_iter(all.iter().map(|one| ruby.str_from_slice(one)))
    }

    fn dump(ruby: &Ruby, this: &Certificates, _depth: i64) -> RString {
        let mut dumped = Vec::new();
        add_number(&mut dumped, this.0.len());
        for all in &this.0 {
            let all = all.as_deref().unwrap_or_default();
            add_number(&mut dumped, all.len());
            for one in all {
                add_number(&mut dumped, one.len());
                dumped.extend_from_slice(one);
            }
        }
        ruby.str_from_slice(&dumped)
    }

    fn load(ruby: &Ruby, dumped: RString) -> Result<Certificates, Error> {
        let bytes = dumped.to_bytes();
        let mut rest = &bytes[..];
        read_all(&mut rest).ok_or_else(|| {
            let message = "this dump has no valid certificates of a response";
            Error::new(ruby.exception_arg_error(), message)
        })
    }
}

fn add_number(dumped: &mut Vec<u8>, number: usize) {
    dumped.extend_from_slice(&(number as u32).to_le_bytes());
}

fn read_all(rest: &mut &[u8]) -> Option<Certificates> {
    let attempts = (0..number(rest)?).map(|_| {
        let all = (0..number(rest)?).map(|_| {
            let length = number(rest)? as usize;
            Some(rest.split_off(..length)?.to_vec())
        });
        let all = all.collect::<Option<Arc<[_]>>>()?;
        Some((!all.is_empty()).then_some(all))
    });
    attempts.collect::<Option<Vec<_>>>().map(Certificates)
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    let bytes = rest.split_off(..4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

/// Attaches the certificates to the record, if there are any.
pub fn attach_certificates(ruby: &Ruby, record: RString, attempts: &[Attempt]) {
    if !attempts.iter().any(|attempt| attempt.tls().is_some()) {
        return;
    }
    let object = last(ruby, attempts).unwrap_or_else(|| {
        let of = |attempt: &Attempt| Some(attempt.tls()?.certificates.clone());
        let made = ruby.obj_wrap(Certificates(attempts.iter().map(of).collect()));
        made.freeze();
        keep(ruby, made);
        made
    });
    // This fails only for a frozen record, and the record is not frozen yet.
    let _ = record.ivar_set(LazyId::get_inner_with(&NAME, ruby), object);
}

/// Ruby's id of the instance variable.
static NAME: LazyId = LazyId::new("@certificates");

/// A Ruby Array that holds only the last object, and is never freed. A server tends to present the same certificates
/// again.
static LAST: OnceLock<Opaque<RArray>> = OnceLock::new();

/// The last object, if it has the certificates of these attempts.
fn last(ruby: &Ruby, attempts: &[Attempt]) -> Option<Obj<Certificates>> {
    let [only] = attempts else {
        return None;
    };
    let object: Obj<Certificates> = ruby.get_inner(*LAST.get()?).entry(0).ok()?;
    match &object.0[..] {
        [Some(its)] if Arc::ptr_eq(its, &only.tls()?.certificates) => Some(object),
        _ => None,
    }
}

fn keep(ruby: &Ruby, object: Obj<Certificates>) {
    if let Some(list) = LAST.get() {
        let _ = ruby.get_inner(*list).store(0, object);
    }
}

/// Defines the class.
pub fn init(ruby: &Ruby, native: RModule) -> Result<(), Error> {
    let list = ruby.ary_new();
    ruby.gc_register_mark_object(list);
    let _ = LAST.set(list.into());
    let class = crate::define::<Certificates>(ruby, native, "Certificates")?;
    class.define_method("[]", method!(Certificates::of, 1))?;
    class.define_method("_dump", method!(Certificates::dump, 1))?;
    class.define_singleton_method("_load", function!(Certificates::load, 1))
}
