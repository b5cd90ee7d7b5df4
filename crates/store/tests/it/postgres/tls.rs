//! Who the server is, and who its user is.

use std::path::PathBuf;

use punchlist_store::postgres::{Address, Postgres};
use punchlist_testkit::postgres::{Server, Setup};

use super::{options, server};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tls").join(name)
}

fn encrypted() -> Server {
    let (certificate, key) = (file("server.pem"), file("server.key"));
    let tls = Some((certificate.as_path(), key.as_path()));
    let server = server(Setup { on_loopback: true, tls, ..Setup::default() });
    server.query("postgres", "CREATE ROLE ann LOGIN SUPERUSER PASSWORD 'p:w'").unwrap();
    server
}

/// Opens a database of the server, by a host name and with parameters in the address.
fn opens(server: &Server, host: &str, parameters: &str) -> Result<(), String> {
    let address = format!("postgres://ann:p%3Aw@{host}:{}/postgres?{parameters}", server.port());
    let roots = file("authority.pem");
    let other = file("other_authority.pem");
    let address = address
        .replace("ROOT", &roots.display().to_string())
        .replace("OTHER", &other.display().to_string());
    Postgres::open(&options(&address)).map(drop).map_err(|error| error.to_string())
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_server_is_believed_by_its_certificate_and_name_unless_the_address_says_otherwise() {
    let server = encrypted();
    opens(&server, "localhost", "sslmode=verify-full&sslrootcert=ROOT").unwrap();
    let refused = |host, parameters| {
        let why = opens(&server, host, parameters).unwrap_err();
        assert!(why.contains("certificate"), "{why}");
        assert!(!why.contains("p%3Aw") && !why.contains("p:w"), "{why}");
    };
    refused("localhost", "sslmode=verify-full&sslrootcert=OTHER");
    refused("localhost", "sslmode=verify-full");
    refused("127.0.0.1", "sslmode=verify-full&sslrootcert=ROOT");
    refused("127.0.0.1", "sslmode=verify-ca&sslrootcert=OTHER");
    opens(&server, "127.0.0.1", "sslmode=verify-ca&sslrootcert=ROOT").unwrap();
    opens(&server, "127.0.0.1", "sslmode=require").unwrap();
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_server_without_tls_is_refused_where_tls_is_wanted() {
    let server = server(Setup { on_loopback: true, ..Setup::default() });
    server.query("postgres", "CREATE ROLE ann LOGIN SUPERUSER PASSWORD 'p:w'").unwrap();
    let why = opens(&server, "127.0.0.1", "sslmode=require").unwrap_err();
    assert!(why.contains("TLS"), "{why}");
    opens(&server, "127.0.0.1", "").unwrap();
}

#[test]
#[ignore = "needs a server: cargo xtask test postgres"]
fn a_wrong_password_is_refused_at_once_and_says_where_it_comes_from() {
    let server = encrypted();
    let address = format!("postgres://ann@127.0.0.1:{}/postgres", server.port());
    let address: Address = address.parse().unwrap();
    let password = address.password_in("127.0.0.1:*:*:ann:p\\:w");
    let right = super::Options::new(address.clone().with_password(password));
    Postgres::open(&right).unwrap();
    let wrong = super::Options::new(address.with_password(Some("guess".to_owned())));
    let why = Postgres::open(&wrong).map(drop).unwrap_err().to_string();
    assert!(why.contains("PGPASSWORD") && !why.contains("guess"), "{why}");
}
