"""The page in a browser without a window: photographs are dropped, bars and classes are seen."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from made_classes import photos
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from served import model_of_colours, served

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1100,900",
)
PATIENCE = 60


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        reason = "the page is tested in chromium with its chromedriver, which are not installed"
        assert os.environ.get("CI") != "true", reason
        pytest.skip(reason)
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield found
    found.quit()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return model_of_colours(tmp_path)


class Page:
    """What a person does with it."""

    def __init__(self, browser: webdriver.Chrome, address: str, token: str = "") -> None:
        self.browser = browser
        browser.get(address)
        if token:
            self.wait(lambda: self.all("dialog[open] #token"))[0].send_keys("wrong", Keys.ENTER)
            self.wait(lambda: "not the right one" in self.one("#door .problem").text)
            self.one("#token").send_keys(token, Keys.ENTER)
        self.wait(lambda: browser.execute_script("return document.documentElement.dataset.ready"))

    def wait(self, is_so: Callable[[], Any]) -> Any:
        return WebDriverWait(self.browser, PATIENCE, 0.05).until(lambda _: is_so())

    def all(self, selector: str) -> list[Any]:
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> Any:
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        return [element.text for element in self.all(selector)]

    def drop(self, field: str, *photographs: Path) -> None:
        self.one(field).send_keys("\n".join(map(str, photographs)))

    def named(self, photograph: Path) -> list[str]:
        """The names that a photograph gets, the most probable one first."""
        self.drop("#photograph", photograph)
        self.wait(lambda: self.one(".shown img").get_attribute("alt") == photograph.name)
        return self.texts(".odds .name")

    def check_silent(self) -> None:
        """Nothing was refused by the policy, nothing failed."""
        said = self.browser.get_log("browser")
        assert [one for one in said if one["level"] in ("WARNING", "SEVERE")] == []


def pictures(folder: Path, name: str, first: int, count: int = 6) -> list[Path]:
    return sorted(
        (photos(folder / f"more{first}", name, count=count, first=first) / name).iterdir()
    )


def test_a_class_is_taught_from_the_page_and_known_then(
    browser: webdriver.Chrome, model: Path, tmp_path: Path
) -> None:
    with served(model) as client:
        page = Page(browser, client.address)
        assert page.one("#summary").text.startswith("2 classes · version 1 of ")
        (red,) = pictures(tmp_path, "red", 50, 1)
        assert page.named(red) == ["red", "green"]
        widths = [bar.rect["width"] for bar in page.all(".odds .rail span")]
        assert widths[0] > 2 * widths[1]
        assert page.texts(".near figcaption") == ["red", "red", "green", "green"]
        for image in (".shown img", ".near img"):
            loaded = f"return document.querySelector('{image}').naturalWidth > 0"
            page.wait(lambda loaded=loaded: browser.execute_script(loaded))
        page.one("#class").send_keys("blau é鳥")
        page.drop("#photographs", *pictures(tmp_path, "blue", 60))
        assert len(page.all(".chosen img")) == 6
        page.one("#class").send_keys(Keys.ENTER)
        page.wait(lambda: page.one("#lesson").get_attribute("class") == "learned")
        assert page.one("#lesson .line").text.startswith("blau é鳥 is learned: ")
        page.wait(lambda: page.one("#summary").text.startswith("3 classes · version 2 of "))
        assert page.texts("#classes .name") == ["blau é鳥new", "green", "red"]
        assert len(page.all("#classes tr:nth-child(2) .course circle")) == 2
        assert len(page.all("#classes tr:nth-child(1) .thumbs img")) == 2
        assert [row.split()[0] for row in page.texts("#versions tbody tr")] == ["2", "1"]
        (blue,) = pictures(tmp_path, "blue", 80, 1)
        assert page.named(blue)[0] == "blau é鳥"
        page.check_silent()


def test_what_goes_wrong_is_said_beside_it(
    browser: webdriver.Chrome, model: Path, tmp_path: Path
) -> None:
    no_image = tmp_path / "no.png"
    no_image.write_text("no image")
    with served(model, max_bytes=2000) as client:
        page = Page(browser, client.address)
        page.drop("#photograph", no_image)
        page.wait(lambda: "cannot be read as an image" in page.one("#look .problem").text)
        (large,) = pictures(tmp_path, "red", 50, 1)
        large.write_bytes(large.read_bytes() + b"\0" * 2000)
        page.drop("#photograph", large)
        page.wait(lambda: "has more than 2,000 bytes" in page.one("#look .problem").text)
        page.one("#class").send_keys(".x")
        page.drop("#photographs", *pictures(tmp_path, "blue", 60, 3))
        page.one(".chosen button").send_keys(Keys.ENTER)
        page.wait(lambda: len(page.all(".chosen img")) == 2)
        page.one("#teach button[type=submit]").click()
        page.wait(lambda: "does not begin with a dot" in page.one("#teach .problem").text)
        same = page.one("#class")
        same.clear()
        page.one("#clear").click()
        same.send_keys("blue")
        twice = [*pictures(tmp_path, "blue", 90, 1), *pictures(tmp_path, "blue", 90, 1)]
        for photograph in twice:
            page.drop("#photographs", photograph)
        page.one("#teach button[type=submit]").click()
        page.wait(lambda: page.one("#lesson").get_attribute("class") == "failed")
        assert "1 photograph of use" in page.one("#lesson .line").text
        page.wait(lambda: len(page.all(".chosen img")) == 2)
        assert same.get_attribute("value") == "blue"
        page.one("#clear").click()
        page.one("#teach button[type=submit]").click()
        page.wait(lambda: "two photographs of it or more" in page.one("#teach .problem").text)


def test_the_token_is_asked_for_or_comes_with_the_address(
    browser: webdriver.Chrome, model: Path, tmp_path: Path
) -> None:
    (red,) = pictures(tmp_path, "red", 50, 1)
    with served(model, token="open sesame", teaches=False) as client:
        page = Page(browser, client.address, "open sesame")
        assert page.one("#summary").text.startswith("2 classes")
        browser.execute_script("sessionStorage.clear()")
        page = Page(browser, f"{client.address}?again#token=open%20sesame")
        assert browser.current_url == client.address
        assert page.named(red)[0] == "red"
        loaded = "return document.querySelector('.near img').naturalWidth > 0"
        page.wait(lambda: browser.execute_script(loaded))
        assert not page.one("#teach").is_displayed()
