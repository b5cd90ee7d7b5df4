//! A browser with one or more tabs, as tests use it.

use std::path::Path;

use serde_json::{Value, json};

use crate::web_driver::{Driver, nothing, until};

/// What is counted in every page from its beginning: broken rules of the content security policy,
/// scripts that should not have run, and layout shifts.
const WATCH: &str = "
    window.seen = { violations: [], ran: [], shift: 0, shifts: [] };
    addEventListener('securitypolicyviolation', (it) => seen.violations.push(it.violatedDirective + ' ' + it.blockedURI));
    window.alert = (text) => seen.ran.push(String(text));
    new PerformanceObserver((list) => {
      for (const it of list.getEntries()) if (!it.hadRecentInput) {
        seen.shift += it.value;
        for (const source of it.sources) seen.shifts.push((source.node?.outerHTML ?? source.node?.parentNode?.outerHTML ?? '?').slice(0, 120));
      }
    }).observe({ type: 'layout-shift', buffered: true });
";

/// How a browser is started.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) is_dark: bool,
    pub(crate) has_scripts: bool,
}

impl Kind {
    pub(crate) const DESK: Self =
        Self { width: 1440, height: 900, is_dark: false, has_scripts: true };
    pub(crate) const PHONE: Self = Self { width: 360, height: 640, ..Self::DESK };
}

pub(crate) struct Browser {
    driver: Driver,
    session: String,
    _profile: tempfile::TempDir,
}

impl Browser {
    pub(crate) fn start(kind: Kind) -> Self {
        let driver = Driver::start();
        let profile = tempfile::tempdir().unwrap();
        let mut arguments: Vec<String> = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
        ]
        .map(str::to_owned)
        .into();
        arguments.push(format!("--user-data-dir={}", profile.path().display()));
        arguments.push(format!("--window-size={},{}", kind.width.max(800), kind.height));
        let binary =
            std::env::var("PUNCHLIST_TEST_CHROMIUM").expect("cargo xtask test browser sets it");
        let mut options = json!({ "args": arguments, "binary": binary });
        if !kind.has_scripts {
            options["prefs"] = json!({ "profile.managed_default_content_settings.javascript": 2 });
        }
        let wanted = json!({ "capabilities": { "alwaysMatch": { "browserName": "chrome", "goog:chromeOptions": options } } });
        let session = driver.send("POST", "/session", &wanted);
        let session = session["sessionId"].as_str().unwrap().to_owned();
        let browser = Self { driver, session, _profile: profile };
        browser.prepare(kind);
        browser
    }

    /// Sets up the current tab.
    fn prepare(&self, kind: Kind) {
        let Kind { width, height, is_dark, .. } = kind;
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500 });
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", &features);
        if kind.has_scripts {
            self.devtools("Page.addScriptToEvaluateOnNewDocument", &json!({ "source": WATCH }));
        }
    }

    #[track_caller]
    fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        self.driver.send(method, &format!("/session/{}{path}", self.session), body)
    }

    #[track_caller]
    fn devtools(&self, command: &str, parameters: &Value) -> Value {
        let body = json!({ "cmd": command, "params": parameters });
        self.send("POST", "/goog/cdp/execute", &body)
    }

    #[track_caller]
    pub(crate) fn open(&self, address: &str) {
        self.send("POST", "/url", &json!({ "url": address }));
    }

    pub(crate) fn address(&self) -> String {
        self.send("GET", "/url", &nothing()).as_str().unwrap().to_owned()
    }

    pub(crate) fn title(&self) -> String {
        self.send("GET", "/title", &nothing()).as_str().unwrap().to_owned()
    }

    pub(crate) fn reload(&self) {
        self.send("POST", "/refresh", &nothing());
    }

    /// Opens another tab and goes there. Returns the names of the old and the new one.
    pub(crate) fn new_tab(&self, kind: Kind) -> (String, String) {
        let old = self.send("GET", "/window", &nothing()).as_str().unwrap().to_owned();
        let new = self.send("POST", "/window/new", &json!({ "type": "tab" }));
        let new = new["handle"].as_str().unwrap().to_owned();
        self.switch(&new);
        self.prepare(kind);
        (old, new)
    }

    pub(crate) fn switch(&self, tab: &str) {
        self.send("POST", "/window", &json!({ "handle": tab }));
    }

    /// Runs a script in the page and returns its value.
    #[track_caller]
    pub(crate) fn script(&self, script: &str) -> Value {
        self.send("POST", "/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Runs a script with arguments that ends by calling its last argument.
    #[track_caller]
    pub(crate) fn script_to_end(&self, script: &str) -> Value {
        self.send("POST", "/execute/async", &json!({ "script": script, "args": [] }))
    }

    fn find(&self, selector: &str) -> Option<String> {
        let body = json!({ "using": "css selector", "value": selector });
        let path = format!("/session/{}/element", self.session);
        let found = self.driver.try_send("POST", &path, &body).ok()?;
        Some(found.as_object()?.values().next()?.as_str()?.to_owned())
    }

    /// Whether an element is there.
    pub(crate) fn has(&self, selector: &str) -> bool {
        self.find(selector).is_some()
    }

    /// Waits until an element is there.
    #[track_caller]
    pub(crate) fn waits_for(&self, selector: &str) {
        until(selector, || self.find(selector).map(drop));
    }

    /// Waits until the text of an element contains this.
    #[track_caller]
    pub(crate) fn sees(&self, selector: &str, text: &str) {
        until(&format!("{selector} contains {text:?}"), || {
            let element = self.find(selector)?;
            let path = format!("/session/{}/element/{element}/text", self.session);
            let shown = self.driver.try_send("GET", &path, &nothing()).ok()?;
            shown.as_str()?.contains(text).then_some(())
        });
    }

    #[track_caller]
    pub(crate) fn click(&self, selector: &str) {
        let element = until(selector, || self.find(selector));
        self.send("POST", &format!("/element/{element}/click"), &nothing());
    }

    #[track_caller]
    pub(crate) fn write(&self, selector: &str, text: &str) {
        let element = until(selector, || self.find(selector));
        self.send("POST", &format!("/element/{element}/clear"), &nothing());
        self.send("POST", &format!("/element/{element}/value"), &json!({ "text": text }));
    }

    /// Presses keys, one after the other, wherever the focus is.
    #[track_caller]
    pub(crate) fn keys(&self, keys: &str) {
        let mut actions = Vec::new();
        for key in keys.chars() {
            let key = match key {
                '\n' => "\u{e007}".to_owned(),
                '\t' => "\u{e004}".to_owned(),
                '\u{1b}' => "\u{e00c}".to_owned(),
                key => key.to_string(),
            };
            actions.push(json!({ "type": "keyDown", "value": key }));
            actions.push(json!({ "type": "keyUp", "value": key }));
        }
        // A page handles keys once its scripts have run.
        until("the page is loaded", || {
            (self.script("return document.readyState") == "complete").then_some(())
        });
        let source = json!({ "type": "key", "id": "keyboard", "actions": actions });
        self.send("POST", "/actions", &json!({ "actions": [source] }));
    }

    /// Writes a picture of what is on the screen.
    pub(crate) fn picture(&self, path: &Path) {
        let taken = self.devtools("Page.captureScreenshot", &json!({ "format": "png" }));
        let bytes = decoded(taken["data"].as_str().unwrap());
        std::fs::write(path, bytes).unwrap();
    }

    /// Checks that no page broke a rule of the content security policy and that no foreign script
    /// ran.
    #[track_caller]
    pub(crate) fn is_calm(&self) {
        let seen = self.script("return window.seen");
        assert_eq!(seen["violations"], json!([]), "{}", self.address());
        assert_eq!(seen["ran"], json!([]), "{}", self.address());
    }

    /// How far things have moved by themselves since the page was opened.
    pub(crate) fn shift(&self) -> (f64, Value) {
        let seen = self.script("return window.seen");
        (seen["shift"].as_f64().unwrap(), seen["shifts"].clone())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let path = format!("/session/{}", self.session);
        self.driver.try_send("DELETE", &path, &nothing()).ok();
    }
}

/// Base64, as the driver sends pictures.
fn decoded(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for value in text.bytes().filter_map(value) {
        bits = (bits << 6 | u32::from(value)) & 0x00ff_ffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).unwrap());
        }
    }
    bytes
}
