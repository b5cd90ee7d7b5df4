//! TLS by rustls. The certificate and the host name are checked unless the address says otherwise.

use std::sync::Arc;

use punchlist_model::store::Error;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{Address, Check};
use super::error::broken;

/// How connections to this address are encrypted.
pub(crate) fn connector(address: &Address) -> Result<MakeRustlsConnect, Error> {
    let provider = Arc::new(ring::default_provider());
    let failed = |error: rustls::Error| broken(format!("TLS for {address}"), error);
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(failed)?;
    let config = match address.check {
        Check::Nothing => {
            let verifier = Unchecked { provider, roots: None };
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        }
        Check::Authority => {
            let roots = Arc::new(roots(address)?);
            let inner = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
            let inner = inner.build().map_err(|error| {
                broken(format!("the certificates of authorities for {address}"), error)
            })?;
            let verifier = Unchecked { provider, roots: Some(inner) };
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        }
        Check::Name => builder.with_root_certificates(roots(address)?),
    };
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

/// The authorities that are trusted: those of `sslrootcert`, else the system's.
fn roots(address: &Address) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    match &address.roots {
        Some(path) => {
            let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
                broken(format!("the certificates in {} cannot be read", path.display()), error)
            };
            let found = CertificateDer::pem_file_iter(path).map_err(|it| failed(it.into()))?;
            for certificate in found {
                let certificate = certificate.map_err(|it| failed(it.into()))?;
                roots.add(certificate).map_err(|it| failed(it.into()))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    Ok(roots)
}

/// Accepts any host name and, without authorities, any certificate.
#[derive(Debug)]
struct Unchecked {
    provider: Arc<CryptoProvider>,
    roots: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for Unchecked {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(roots) = &self.roots else { return Ok(ServerCertVerified::assertion()) };
        match roots.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            checked => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
