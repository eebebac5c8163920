"""The pages in a real browser. Runs where Chromium, its driver and selenium are installed."""

import shutil

import pytest

webdriver = pytest.importorskip("selenium.webdriver")
service = pytest.importorskip("selenium.webdriver.chrome.service")

BROWSER = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
DRIVER = shutil.which("chromedriver")

pytestmark = pytest.mark.skipif(
    BROWSER is None or DRIVER is None, reason="Chromium and chromedriver are not installed"
)

# No window, no request to anyone, and as root in a container (no sandbox, a small /dev/shm).
ARGUMENTS = (
    "--headless=new",
    "--window-size=1280,900",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--no-sandbox",
    "--disable-dev-shm-usage",
)


@pytest.fixture(scope="module")
def chrome():
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=service.Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def page(chrome, report_page):
    chrome.get(report_page.as_uri())
    yield chrome
    assert chrome.get_log("browser") == []


@pytest.fixture(scope="module")
def compare_file(comparison, tmp_path_factory):
    return comparison.save(tmp_path_factory.mktemp("compare"))


@pytest.fixture
def compare_page(chrome, compare_file):
    chrome.get(compare_file.as_uri())
    yield chrome
    assert chrome.get_log("browser") == []


def texts(page, query):
    script = "return Array.from(document.querySelectorAll(arguments[0])).map(e => e.textContent)"
    return page.execute_script(script, query)


def shown(page, query):
    script = (
        "return Array.from(document.querySelectorAll(arguments[0]))"
        ".filter(e => getComputedStyle(e).display !== 'none').length"
    )
    return page.execute_script(script, query)


def click(page, query):
    page.execute_script("document.querySelector(arguments[0]).click()", query)


def test_it_loads_whole(page):
    assert page.title.startswith("Jacobian Aligned Random Forests")
    assert len(texts(page, "figure svg")) == 8  # accuracy and time first
    assert len(texts(page, "section table")) >= 12
    assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth")


def test_tables_sort_both_ways_and_keep_their_summary_below(page):
    head = "#table-classification thead th:nth-child(2)"
    column = "#table-classification tbody tr:not(.summary) td:nth-child(2) .ours"
    click(page, head)
    falling = [float(text) for text in texts(page, column)]
    assert falling == sorted(falling, reverse=True)
    click(page, head)
    rising = [float(text) for text in texts(page, column)]
    assert rising == sorted(falling)
    last = texts(page, "#table-classification tbody tr:last-child td:first-child")[0]
    assert last == "Holm p against RF"
    click(page, "#table-classification thead th:first-child")
    names = texts(page, "#table-classification tbody tr:not(.summary) td:first-child")
    assert names == sorted(names, key=str.lower)


def test_filters_hide_methods_and_datasets_everywhere(page):
    assert shown(page, '#table-classification td[data-method="CCF"]') > 0
    click(page, 'input[data-filter="method"][value="CCF"]')
    assert shown(page, '[data-method="CCF"]') == 0
    assert shown(page, '#figure-simulation [data-method="RF"]') > 0
    click(page, 'input[data-filter="dataset"][value="adult"]')
    assert shown(page, 'tr[data-dataset="adult"]') == 0
    assert shown(page, '#figure-gains [data-dataset="adult"]') == 0
    click(page, 'input[data-filter="method"][value=""]')
    assert shown(page, "#table-classification thead th") == 11  # all of them again
    assert shown(page, 'tr[data-dataset="adult"]') == 0
    click(page, 'input[data-filter="method"][value=""]')
    assert shown(page, "#table-classification thead th") == 1


def test_views_switch_between_ours_and_the_papers(page):
    cell = '#table-classification tr[data-dataset="adult"] td:nth-child(2)'
    for view, visible in (("ours", "ours"), ("paper", "paper"), ("difference", "gap")):
        click(page, f'.views button[value="{view}"]')
        for part in ("ours", "paper", "gap"):
            assert bool(shown(page, f"{cell} .{part}")) == (part == visible)


def test_hover_describes_a_point(page):
    page.execute_script(
        "const mark = document.querySelector('#figure-gains [data-tip]');"
        "mark.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: 200}))"
    )
    assert texts(page, "#tip.on")[0].split(",")[0] in {
        *("iris", "adult", "covertype", "kin8nm", "protein"),
        "<script>alert(1)</script>|data",
    }


def test_names_of_users_are_text(page):
    assert "<script>alert(1)</script>" in texts(page, "#table-classification thead th")
    assert len(texts(page, "script")) == 1


def test_light_and_dark(page):
    before = page.execute_script("return getComputedStyle(document.body).backgroundColor")
    click(page, "#theme")
    after = page.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert before != after


def test_a_phone_needs_no_sideways_scrolling(page):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.refresh()
    try:
        assert page.execute_script("return document.documentElement.scrollWidth") == 390
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


# ---- jarf compare


def test_a_comparison_loads_whole_with_its_answer_first(compare_page, comparison):
    assert texts(compare_page, "header .answer") == comparison.answer[:1]
    assert len(texts(compare_page, "figure svg")) == 9
    assert compare_page.execute_script("return document.documentElement.scrollWidth <= innerWidth")


def test_its_tables_sort(compare_page):
    head = "#table-compare-scores thead th:nth-child(2)"
    column = "#table-compare-scores tbody td:nth-child(2)"
    click(compare_page, head)
    falling = [float(text) for text in texts(compare_page, column)]
    assert falling == sorted(falling, reverse=True)
    click(compare_page, head)
    assert [float(text) for text in texts(compare_page, column)] == falling[::-1]
    click(compare_page, "#table-compare-curve thead th:first-child")
    sizes = [int(text) for text in texts(compare_page, "#table-compare-curve tbody td:first-child")]
    assert sizes == sorted(sizes)
    assert len(sizes) > 1


def test_its_methods_can_be_hidden(compare_page):
    click(compare_page, 'input[data-filter="method"][value="RF"]')
    assert shown(compare_page, '[data-method="RF"]') == 0
    assert shown(compare_page, '#table-compare-scores tr[data-method="JF"]') == 1


def test_its_columns_and_labels_are_text(compare_page):
    evil = "<script>alert(1)</script>"
    assert evil in texts(compare_page, "figure svg text")
    assert evil in texts(compare_page, "h1")[0]
    assert len(texts(compare_page, "script")) == 1
    assert texts(compare_page, "td b, td i") == []


def test_its_marks_speak(compare_page):
    compare_page.execute_script(
        "const mark = document.querySelector('#figure-compare-heat [data-tip]');"
        "mark.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: 200}))"
    )
    assert ", direction 1: " in texts(compare_page, "#tip.on")[0]


def test_it_fits_a_phone(compare_page):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    compare_page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    compare_page.refresh()
    try:
        assert compare_page.execute_script("return document.documentElement.scrollWidth") == 390
        narrow = "return document.querySelector('#table-compare-pairs td').offsetWidth"
        assert compare_page.execute_script(narrow) > 80  # names are not cut letter by letter
    finally:
        compare_page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
