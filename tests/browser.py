"""A real browser for the tests of the page and of the viewer: headless Chromium, driven by selenium."""

import io
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

HOW = "No Chromium, so nothing is tested in a real browser; on Debian: apt-get install chromium chromium-driver"
PATIENCE = 60  # [s] for what a browser does: it draws 3D on the processor here


@contextmanager
def open_browser(width: int = 1400, height: int = 900) -> Iterator:
    """A headless browser; skips the test where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium: pip install 'stiction[dev]'")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip(HOW)
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    flags = ["--headless=new", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    flags += ["--disable-dev-shm-usage", "--hide-scrollbars", f"--window-size={width},{height}"]
    if os.geteuid() == 0:  # Chromium's sandbox refuses root, which is who runs the tests in a container
        flags.append("--no-sandbox")
    for flag in flags:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    browser.set_script_timeout(PATIENCE)
    try:
        yield browser
    finally:
        browser.quit()


def set_width(browser, width: int, height: int = 900) -> None:
    """Make the window that wide [px]; narrow ones are phones."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def wait_for(condition: Callable, what: str):
    """The first true answer of `condition`, asked again and again."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        answer = condition()
        if answer:
            return answer
        time.sleep(0.1)
    raise AssertionError(f"After {PATIENCE} s still not: {what}")


def press(browser, text: str) -> bool:
    """Click the button of that text; whether there is one."""
    return browser.execute_script(_BUTTON + "b?.click(); return !!b", text)


def has_button(browser, text: str) -> bool:
    """Whether there is a button of that text."""
    return browser.execute_script(_BUTTON + "return !!b", text)


# In one go: the page may draw its controls anew between a search and a click.
_BUTTON = "const b = [...document.querySelectorAll('button')].find((b) => b.innerText.trim() === arguments[0]);"


def errors(browser) -> list[str]:
    """Errors that the console has shown since the last call."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def picture(browser, area: tuple[float, float, float, float]) -> np.ndarray:
    """What is seen in an area (left, top, right, bottom) of the window [px], shape (height, width, 3)."""
    from PIL import Image
    from selenium.common.exceptions import TimeoutException

    for _ in range(5):
        try:
            png = browser.get_screenshot_as_png()
        except TimeoutException:  # a busy machine may draw no frame within the browser's ten seconds
            continue
        return np.asarray(Image.open(io.BytesIO(png)).convert("RGB").crop(area), dtype=np.int16)
    raise AssertionError("The browser took no picture.")


def changed(before: np.ndarray, after: np.ndarray) -> int:
    """Number of pixels that differ clearly."""
    return int((np.abs(after - before).max(axis=-1) > 40).sum())
