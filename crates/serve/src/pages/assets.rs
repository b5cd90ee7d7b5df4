//! The files that pages load, inside the binary. Their names contain a digest of their content, so
//! browsers may keep them for ever.

use std::sync::LazyLock;

use sha2::{Digest, Sha256};

/// A file that pages load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Asset {
    /// The name without digest and extension.
    name: &'static str,
    extension: &'static str,
    /// The media type.
    pub(crate) kind: &'static str,
    /// The content.
    pub(crate) content: &'static str,
}

/// The style sheet.
pub(crate) const STYLE: Asset = Asset {
    name: "style",
    extension: "css",
    kind: "text/css; charset=utf-8",
    content: include_str!("assets/style.css"),
};
/// Our script.
pub(crate) const SCRIPT: Asset = Asset {
    name: "dashboard",
    extension: "js",
    kind: "text/javascript; charset=utf-8",
    content: include_str!("assets/dashboard.js"),
};
/// htmx, as its authors published it; its licence stands beside the file.
pub(crate) const HTMX: Asset = Asset {
    name: "htmx",
    extension: "js",
    kind: "text/javascript; charset=utf-8",
    content: include_str!("assets/htmx-2.0.11.min.js"),
};
/// The icon of the tab.
pub(crate) const ICON: Asset = Asset {
    name: "icon",
    extension: "svg",
    kind: "image/svg+xml",
    content: include_str!("assets/icon.svg"),
};

static ALL: LazyLock<Vec<(String, Asset)>> = LazyLock::new(|| {
    [STYLE, SCRIPT, HTMX, ICON].into_iter().map(|it| (file_name(it), it)).collect()
});

fn file_name(asset: Asset) -> String {
    let digest = Sha256::digest(asset.content.as_bytes());
    let digest: String = digest.iter().take(6).map(|it| format!("{it:02x}")).collect();
    format!("{}.{digest}.{}", asset.name, asset.extension)
}

/// The address of a file.
pub(crate) fn address(base: &str, asset: Asset) -> String {
    let named = ALL.iter().find(|it| it.1 == asset);
    format!("{base}/assets/{}", named.map_or("", |it| it.0.as_str()))
}

/// The file with this name.
pub(crate) fn find(name: &str) -> Option<Asset> {
    ALL.iter().find(|it| it.0 == name).map(|it| it.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_the_name_in_its_address_and_no_other() {
        for asset in [STYLE, SCRIPT, HTMX, ICON] {
            let address = address("/x", asset);
            let name = address.strip_prefix("/x/assets/").unwrap();
            assert_eq!(find(name), Some(asset));
            assert!(name.len() > asset.name.len() + 12, "{name} has no digest");
        }
        for name in ["", "style.css", "../style.css", "style.0.css"] {
            assert_eq!(find(name), None, "{name}");
        }
    }

    #[test]
    fn our_files_name_no_other_host() {
        for asset in [STYLE, SCRIPT, ICON] {
            let text = asset.content.replace("http://www.w3.org/2000/svg", "");
            assert!(!text.contains("//") || !text.contains("http"), "{}", asset.name);
            assert!(!text.contains("@import"), "{}", asset.name);
        }
    }
}
