//! Makes certificates: an authority, the certificates that it signs, and certificates with flaws.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, Error, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};

/// The certificates of a TLS test server and of its clients, as PEM.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The authority that clients should trust; it signs client certificates too.
    pub ca: String,
    /// The server's certificates, leaf first.
    pub chain: String,
    /// The private key of the leaf.
    pub key: String,
    /// A client's certificate and its key.
    pub client: String,
}

/// The flaw of a leaf certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A good certificate.
    None,
    /// It expired in 2001.
    Expired,
    /// It becomes valid in 2999.
    NotYetValid,
    /// It is for another host.
    WrongHost,
    /// It is signed by itself.
    SelfSigned,
    /// It is signed by an authority that nobody trusts.
    UntrustedAuthority,
    /// It may only be used by clients.
    ForClients,
    /// The host stands only in its common name.
    CommonName,
}

/// The name in a leaf that is for another host.
const WRONG_HOST: &str = "wrong.example";

/// A new authority, a leaf for `names` with that flaw, and a client's certificate.
///
/// # Errors
/// If a name cannot stand in a certificate.
pub fn make(names: &[String], flaw: Flaw) -> Result<Identity, Error> {
    let authority = CertifiedIssuer::self_signed(authority(), KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let leaf = leaf(names, flaw)?;
    let leaf = match flaw {
        Flaw::SelfSigned => leaf.self_signed(&key)?,
        Flaw::UntrustedAuthority => {
            let stranger = CertifiedIssuer::self_signed(self::authority(), KeyPair::generate()?)?;
            leaf.signed_by(&key, &stranger)?
        }
        _ => leaf.signed_by(&key, &authority)?,
    };
    let client_key = KeyPair::generate()?;
    let client = client()?.signed_by(&client_key, &authority)?;
    Ok(Identity {
        ca: authority.pem(),
        chain: leaf.pem(),
        key: key.serialize_pem(),
        client: client.pem() + &client_key.serialize_pem(),
    })
}

fn authority() -> CertificateParams {
    let mut params = CertificateParams::default();
    let name = &mut params.distinguished_name;
    name.push(DnType::CommonName, "Hecaton's authority for tests");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn leaf(names: &[String], flaw: Flaw) -> Result<CertificateParams, Error> {
    let names = match flaw {
        Flaw::WrongHost => vec![WRONG_HOST.to_owned()],
        Flaw::CommonName => Vec::new(),
        _ => names.to_vec(),
    };
    let common = match flaw {
        Flaw::CommonName => "127.0.0.1",
        _ => "test server",
    };
    let mut params = named(names, common)?;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    match flaw {
        Flaw::ForClients => {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        }
        Flaw::Expired => params.not_after = date_time_ymd(2001, 1, 1),
        Flaw::NotYetValid => params.not_before = date_time_ymd(2999, 1, 1),
        _ => {}
    }
    Ok(params)
}

fn client() -> Result<CertificateParams, Error> {
    let mut params = named(vec!["client.example".to_owned()], "client")?;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    Ok(params)
}

fn named(names: Vec<String>, common: &str) -> Result<CertificateParams, Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, common);
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}
