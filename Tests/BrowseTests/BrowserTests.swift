import FetchIndex
import Foundation
import FetchIndexTestSupport
import Testing

/// The live page in a browser.
@Suite(
    .serialized, .enabled(if: Browser.driver != nil, "it needs Debian's chromium-driver, which Scripts/test installs"))
struct BrowserTests {
    let page: BrowsedPage
    let browser: Browser

    init() throws {
        page = try BrowsedPage(items: 20_000)
        try page.start()
        browser = try Browser.shared()
    }

    private static let group = "by%20group"

    func openRows(_ cache: String = group) throws {
        try browser.open(page.address + "#rows=" + cache)
        #expect(try browser.wait(for: "browser.rows && browser.rows.row(0)"))
    }

    func checkLogs() throws {
        #expect(try browser.log("browser") == [])
        // Every request of the page must go to the page's own server.
        var asked = 0
        for message in try browser.log("performance") {
            guard let json = try JSONSerialization.jsonObject(with: Data(message.utf8)) as? [String: Any],
                let event = json["message"] as? [String: Any],
                event["method"] as? String == "Network.requestWillBeSent",
                let parameters = event["params"] as? [String: Any],
                let request = parameters["request"] as? [String: Any],
                let address = request["url"] as? String
            else { continue }
            asked += 1
            #expect(address.hasPrefix(page.address), "\(address)")
        }
        #expect(asked >= 5)
    }

    @Test func thePageShowsCachesAndSendsRequestsOnlyToItsServer() throws {
        try browser.open(page.address)
        #expect(try browser.wait(for: "document.querySelectorAll('#chips a').length == 2"))
        #expect(try browser.wait(for: "document.querySelectorAll('.card svg').length > 0"))
        #expect(try browser.text("document.getElementById('chips').textContent").contains("by group fresh"))
        // The test's own process, not the server's, commits and so changes the state of the cache.
        try page.insert(20_000..<20_010)
        #expect(try browser.wait(for: "document.getElementById('chips').textContent.includes('10 changes behind')"))
        #expect(try browser.wait(for: "document.querySelector('#store header').textContent.includes('20,010')"))
        try checkLogs()
    }

    @Test func thePageShowsTheOrdersRowsAtSeveralScrollPositions() throws {
        try openRows()
        for place in [0, 5000, 10_000, 19_990] {
            try browser.run("browser.rows.show(\(place))")
            #expect(try browser.wait(for: "browser.rows.row(\(min(place, 19_990))) !== undefined"))
            #expect(try browser.wait(for: "!document.querySelector('#rows .row.waiting')"))
            let top = try browser.number("browser.rows.top")
            var expected: [String] = []
            try page.container.withOrder(try #require(BrowsedPage.caches["by group"]), .init(cacheName: "by group")) {
                try $0.forEachRow(from: top, limit: 10) { expected.append(try $0.value(of: "name").description) }
            }
            // The rows on the screen, from top to bottom.
            let shown =
                try browser.run(
                    """
                    return [...document.querySelectorAll('#rows .row')].sort((a, b) => a.getBoundingClientRect().y - b.getBoundingClientRect().y)
                      .slice(0, 10).map(row => row.children[2].textContent)
                    """) as? [String]
            #expect(shown == expected, "\(place)")
        }
        // Scrolls to the top, down by ten rows, and to the end.
        try browser.run("document.getElementById('rows').scrollTop = 0")
        #expect(try browser.wait(for: "browser.rows.top == 0"))
        try browser.run("document.getElementById('rows').scrollTop += 280")
        #expect(try browser.wait(for: "browser.rows.top == 10"))
        try browser.run("document.getElementById('rows').scrollTop = 1e9")
        #expect(try browser.wait(for: "browser.rows.row(19999) && browser.rows.top > 19900"))
        try checkLogs()
    }

    @Test func aRowInsertedByAnotherProcessAppearsInItsPlace() throws {
        try openRows()
        let first = try browser.text("browser.rows.row(0).values[0]")
        // If the group is null, it's null in the JSON too.
        let values = try browser.text(
            "JSON.stringify({ group: browser.rows.row(0).values[1], size: Number(browser.rows.row(0).values[2]) })")
        let gone = try browser.text("browser.rows.row(2).values[0]")
        let line = """
            {"op":"insert","key":" new","values":\(values)}
            {"op":"delete","key":"\(gone)"}

            """
        let file = page.folder.path + "/changes.jsonl"
        try Data(line.utf8).write(to: URL(fileURLWithPath: file))
        try page.run(["apply", page.store, file, "--entity", "Item", "--key", "name"])
        #expect(try browser.wait(for: "browser.rows.row(0).values[0] == ' new'"))
        #expect(try browser.wait(for: "document.querySelector('#rows .row.inserted').textContent.includes(' new')"))
        #expect(try browser.text("browser.rows.row(1).values[0]") == first)
        #expect(try browser.text("document.getElementById('lastChange').textContent") == "1 inserted, 1 deleted")
        #expect(try browser.wait(for: "document.getElementById('cacheState').textContent == '2 changes behind'"))
        // Rows that are inserted above the visible ones do not scroll the page.
        try browser.run("browser.rows.show(10000)")
        #expect(try browser.wait(for: "browser.rows.row(browser.rows.top)"))
        let top = try browser.text("browser.rows.row(browser.rows.top).id")
        try page.insert(30_000..<30_500)
        #expect(try browser.wait(for: "browser.rows.count == 20500 && browser.rows.row(browser.rows.top)"))
        #expect(try browser.wait(for: "browser.rows.row(browser.rows.top).id == '\(top)'"))
        #expect(try browser.number("browser.rows.top") > 10_000)
        try checkLogs()
    }

    @Test func markupInValuesIsShownAsText() throws {
        try openRows("plain%20%26%20%22odd%22%20%3Cname%3E")
        #expect(try browser.text("document.getElementById('cacheName').textContent") == "plain & \"odd\" <name>")
        let texts = "[...document.querySelectorAll('#rows .row')].map(row => row.textContent)"
        #expect(try browser.wait(for: "\(texts).some(text => text.includes('script'))"))
        let shown = try browser.text("\(texts).find(text => text.includes('script'))")
        #expect(shown.contains("<img src=x onerror='window.hostile = 1'>"))
        try browser.run("part('where').value = 'name CONTAINS \"script\"'; part('tools').requestSubmit()")
        #expect(try browser.wait(for: "document.querySelector('#matches li')"))
        #expect(try browser.text("document.querySelector('#matches li').textContent").contains("<script>"))
        #expect(
            try browser.number("document.querySelectorAll('#browser script, #browser img, #browser b').length") == 0)
        #expect(try browser.number("window.hostile ?? 0") == 0)
        try checkLogs()
    }

    @Test func thePagesSearchShowsErrorsAndScrollsToMatches() throws {
        try openRows()
        try browser.run("part('where').value = 'size <'; part('tools').requestSubmit()")
        #expect(try browser.wait(for: "!part('searchError').hidden"))
        #expect(try browser.text("part('searchError').textContent").hasSuffix("\n    size <\n          ^"))
        try browser.run("part('where').value = 'name == \"item 12345\"'; part('tools').requestSubmit()")
        #expect(try browser.wait(for: "part('searchProgress').textContent.endsWith('in 20,000 of 20,000')"))
        #expect(try browser.number("document.querySelectorAll('#matches li').length") == 1)
        try browser.run("document.querySelector('#matches button').click()")
        #expect(
            try browser.wait(
                for: "(document.querySelector('#rows .row.found') ?? {}).textContent?.includes('item 12345')"))
        try checkLogs()
    }

    @Test func thePageReportsAMissingStoreAMissingCacheAndAnEndedServer() throws {
        try openRows()
        try FileManager.default.moveItem(atPath: page.store, toPath: page.store + ".away")
        #expect(try browser.wait(for: "part('problem').textContent.includes('there is no store')"))
        try FileManager.default.moveItem(atPath: page.store + ".away", toPath: page.store)
        #expect(try browser.wait(for: "part('problem').hidden && browser.rows && browser.rows.row(0)"))
        try page.container.deleteCache(named: "by group")
        #expect(try browser.wait(for: "part('unshown').textContent.includes('there is no cache')"))
        page.server?.interrupt()
        #expect(try browser.wait(for: "part('problem').textContent.includes('has ended')"))
    }

    @Test func theLastColumnOfAWideTableCanBeScrolledTo() throws {
        try openRows()
        #expect(try browser.number("part('rows').scrollWidth - part('rows').clientWidth") > 20)
        try browser.run("part('rows').scrollLeft = 1e6")
        let hit = """
            (() => {
              const cell = document.querySelector('#rows .row').lastElementChild, box = cell.getBoundingClientRect();
              return document.elementFromPoint(box.right - 5, box.y + 10) === cell;
            })()
            """
        #expect(try browser.wait(for: hit))
        #expect(
            try browser.number("part('rows').querySelector('.head').offsetWidth")
                == browser.number("document.querySelector('#rows .row').offsetWidth"))
    }

    /// A page in the background does not listen for events. Once visible again, it shows the newest state.
    @Test func aPageThatIsVisibleAgainCatchesUp() throws {
        try openRows()
        try browser.run(
            """
            window.isHidden = true;
            Object.defineProperty(document, 'hidden', { get: () => window.isHidden });
            document.dispatchEvent(new Event('visibilitychange'));
            """)
        #expect(try browser.number("events.readyState") == 2)
        try page.insert(20_000..<20_100)
        usleep(300_000)
        #expect(try browser.number("browser.rows.count") == 20_000)
        try browser.run("window.isHidden = false; document.dispatchEvent(new Event('visibilitychange'))")
        #expect(try browser.wait(for: "browser.rows && browser.rows.count == 20100"))
        try page.insert(20_100..<20_101)
        #expect(try browser.wait(for: "browser.rows.count == 20101"))
        try checkLogs()
    }

    @Test func thePageShowsTheStateAfterManySmallChanges() throws {
        try openRows()
        try browser.run("browser.rows.show(10000)")
        for number in 0..<60 { try page.insert(30_000 + number * 10..<30_000 + number * 10 + 7) }
        #expect(try browser.wait(for: "browser.rows.count == 20420"))
        let top = try browser.number("browser.rows.top")
        var name = ""
        try page.container.withOrder(try #require(BrowsedPage.caches["by group"]), .init(cacheName: "by group")) {
            try $0.withRow(at: top) { name = try $0.value(of: "name").description }
        }
        // Until the page has read the new rows, it shows the old ones.
        #expect(try browser.wait(for: "browser.rows.row(\(top)).values[0] == '\(name)'"), "\(top) \(name)")
        let cells = "[...document.querySelectorAll('#rows .row')].map(row => row.children[2].textContent)"
        #expect(try browser.wait(for: "\(cells).includes('\(name)') && !document.querySelector('#rows .row.waiting')"))
        #expect(try browser.number("browser.rows.top") == top)
        try checkLogs()
    }

    /// Ten million rows need more height than browsers allow an element. Small steps must still go to the next rows.
    @Test func rowsOfAListOfTenMillionCanBeScrolledTo() throws {
        try openRows()
        try browser.run(
            """
            window.big = new RowList(part('sections'), null, async (from, limit) =>
              Array.from({ length: limit }, (_, index) => ({ id: String(from + index), number: from + index })),
              (target, row) => { target.textContent = row ? row.number : ''; });
            window.big.reload(10000000);
            """)
        func top() throws -> Int { try browser.number("window.big.top") }
        for place in [0, 3, 35_000, 40_000, 123_457, 5_000_000, 9_960_000, 9_999_950] {
            try browser.run("window.big.show(\(place))")
            #expect(try top() == place)
            #expect(try browser.wait(for: "window.big.row(\(place))?.number == \(place)"))
            for step in [1, 10, -5] {
                let before = try top()
                // A step can't go beyond the first row.
                if before + step < 0 { continue }
                try browser.run("part('sections').scrollTop += \(step * 28)")
                #expect(try browser.wait(for: "window.big.top == \(before + step)", seconds: 3), "\(place) \(step)")
                // The list settles 0.15 s after a scroll.
                usleep(250_000)
                #expect(try top() == before + step, "\(place) \(step)")
            }
        }
        try browser.run("part('sections').scrollTop = 1e9")
        #expect(try browser.wait(for: "window.big.row(9999999)"))
        try browser.run("part('sections').scrollTop = part('sections').scrollHeight / 2")
        #expect(try browser.wait(for: "Math.abs(window.big.top - 5000000) < 50000"))
    }

    /// The greatest height that the list may have is just enough for all rows, or just too small.
    @Test(arguments: [285_713, 285_714, 285_715, 285_720, 285_735]) func theLastRowsCanBeScrolledToStepByStep(
        count: Int
    )
        throws
    {
        try openRows()
        try browser.run(
            """
            window.big = new RowList(part('sections'), null, async (from, limit) =>
              Array.from({ length: limit }, (_, index) => ({ id: String(from + index) })), () => {});
            window.big.reload(\(count));
            """)
        try browser.run("part('sections').scrollTop = 1e9")
        #expect(try browser.wait(for: "window.big.top > \(count - 100)"))
        let last = try browser.number("window.big.top")
        usleep(250_000)
        for step in 1...8 {
            try browser.run("part('sections').scrollTop -= 28")
            #expect(try browser.wait(for: "window.big.top == \(last - step)", seconds: 3), "\(count) \(step)")
        }
        usleep(250_000)
        for step in (0..<8).reversed() {
            try browser.run("part('sections').scrollTop += 28")
            #expect(try browser.wait(for: "window.big.top == \(last - step)", seconds: 3), "\(count) \(step)")
        }
    }
}
