//! A page in a browser, as tests see it.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Names of browsers that can be told to print a page.
pub const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The page as the browser has it when its scripts have run. `link`: the end of its address, with `#`, or nothing. `None`: no
/// browser can be started.
pub fn rendered(page: &str, link: &str) -> Option<String> {
    static PAGES: AtomicUsize = AtomicUsize::new(0);
    let starts = |name: &&&str| {
        let version =
            Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    };
    let browser = BROWSERS.iter().find(starts)?;
    let number = PAGES.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("visa-page-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("is created");
    let file = folder.join("page.html");
    std::fs::write(&file, page).expect("is written");
    // The sandbox wants rights that containers do not give; the page is our own.
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1280,900", "--dump-dom"])
        .args(["--virtual-time-budget=5000", "--timeout=20000", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}{link}", file.display()))
        .output()
        .expect("it has just started");
    // Processes that the browser started may still write to its profile: then the folder stays.
    let _ = std::fs::remove_dir_all(&folder);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // A browser that may not run here prints nothing. A page whose script fails is printed.
    text.contains("<html").then_some(text)
}
