import FetchIndex
import Foundation
import Testing

/// The live page by keyboard, with a screen reader, and on paper.
extension BrowserTests {
    private static let focused = "document.activeElement"

    private func waitForOverview() throws {
        try browser.open(page.address)
        #expect(try browser.wait(for: "document.querySelectorAll('.card svg').length > 0"))
    }

    private func startSearch() throws {
        try browser.run("part('where').focus(); part('where').value = 'size < 500'; part('tools').requestSubmit()")
        #expect(try browser.wait(for: "!part('more').hidden && part('matches').children.length > 2"))
    }

    /// Presses Tab until the focus leaves the page. Checks that it has been at each visible control, and was drawn.
    private func checkThatTabReachesAllControls() throws {
        try browser.run(
            """
            document.activeElement.blur();
            getSelection().removeAllRanges(); getSelection().collapse(document.body, 0);
            window.controls = [...document.querySelectorAll("a[href], button, input, [tabindex='0']")]
              .filter(control => control.getClientRects().length > 0 && control.tabIndex >= 0);
            window.reached = new Set();
            """)
        #expect(try browser.number("controls.length") >= 4)
        for _ in 0..<30 {
            try browser.press(Key.tab)
            try browser.run("reached.add(\(Self.focused))")
            let outline = "getComputedStyle(\(Self.focused)).outlineStyle"
            #expect(try browser.text("\(Self.focused) === document.body ? 'body' : \(outline)") != "none")
        }
        let missed = "controls.filter(control => !reached.has(control)).map(control => control.outerHTML).join()"
        #expect(try browser.text(missed) == "")
    }

    @Test func everyControlOfThePageIsReachedByTheKeyboard() throws {
        try waitForOverview()
        try checkThatTabReachesAllControls()
        try openRows()
        try checkThatTabReachesAllControls()
        try startSearch()
        try checkThatTabReachesAllControls()
        try checkLogs()
    }

    @Test func arrowKeysMoveThroughTheSectionsAndEnterShowsTheirRows() throws {
        try openRows()
        try browser.run("part('sections').focus()")
        try browser.press(Key.down, Key.down, Key.up, Key.down, Key.enter)
        #expect(try browser.wait(for: "browser.section === 2"))
        #expect(try browser.number("browser.rows.top") == browser.number("browser.sections.row(2).rowsBefore"))
        let active = "document.getElementById(part('sections').getAttribute('aria-activedescendant'))"
        #expect(try browser.text("\(active).ariaLabel").hasSuffix(" rows"))
        try browser.press(Key.home, Key.space)
        #expect(try browser.wait(for: "browser.rows.top === 0"))
        try browser.press(Key.end)
        #expect(try browser.wait(for: "browser.cursor === browser.view.sectionCount - 1 && \(active)"))
        try browser.press(Key.enter)
        #expect(try browser.wait(for: "browser.rows.top > 15000"))
        try checkLogs()
    }

    @Test func arrowKeysMoveThroughMatchesAndEscapeLeavesTheSearch() throws {
        try openRows()
        try startSearch()
        try browser.run("document.querySelector('#matches button').focus()")
        try browser.press(Key.down, Key.down)
        #expect(try browser.wait(for: "\(Self.focused) === part('matches').children[2].firstChild"))
        try browser.press(Key.enter)
        #expect(try browser.wait(for: "part('spoken').textContent.startsWith('row ')"))
        try browser.press(Key.escape)
        #expect(try browser.wait(for: "part('found').hidden && part('where').value === ''"))
        #expect(try browser.text("\(Self.focused).id") == "where")
        try checkLogs()
    }

    @Test func theFocusGoesToTheRowsAndBackToTheCardOfTheCache() throws {
        try openRows()
        #expect(try browser.wait(for: "\(Self.focused).id === 'rows'"))
        try browser.run("part('back').click()")
        #expect(try browser.wait(for: "\(Self.focused).ariaLabel === 'by group'"))
        try browser.press(Key.tab)
        #expect(try browser.text("\(Self.focused).ariaLabel") == "Show its rows: by group")
        // The card is read again, and the link keeps the focus.
        try page.insert(20_000..<20_010)
        #expect(try browser.wait(for: "\(Self.focused).closest('.card').textContent.includes('10 changes behind')"))
        #expect(try browser.text("\(Self.focused).ariaLabel") == "Show its rows: by group")
        try browser.press(Key.enter)
        #expect(try browser.wait(for: "\(Self.focused).id === 'rows'"))
        try checkLogs()
    }

    @Test func screenReadersGetTablesListsNamesAndHeadingsInOrder() throws {
        func check() throws -> [String] {
            let nodes = try browser.accessibleNodes()
            let controls: Set = ["link", "button", "searchbox", "textbox", "listbox", "option", "image", "group"]
            for node in nodes where controls.contains(node.role) { #expect(node.name != "", "\(node)") }
            let headings =
                "[...document.querySelectorAll('h1, h2, h3')].filter(heading => !heading.closest('[hidden]'))"
            let levels = try browser.text("\(headings).map(heading => heading.tagName[1]).join('')")
                .compactMap(\.wholeNumberValue)
            let isInOrder = zip(levels, levels.dropFirst()).allSatisfy { $1 > 1 && $1 <= $0 + 1 }
            #expect(levels.first == 1 && isInOrder, "\(levels)")
            return nodes.map(\.role)
        }
        try waitForOverview()
        #expect(try check().contains("columnheader"))
        try openRows()
        try browser.run("browser.rows.show(100)")
        try browser.run("browser.rows.show(90)")
        #expect(try browser.wait(for: "document.querySelector('#rows .layer').firstChild.ariaRowIndex === '92'"))
        let roles = try check()
        for role in ["table", "row", "columnheader", "cell", "listbox", "option"] { #expect(roles.contains(role)) }
        #expect(try browser.text("part('rows').ariaRowCount") == "20001")
        // Rows are read from top to bottom.
        let order = "[...document.querySelectorAll('#rows .layer > .row')].map(row => Number(row.ariaRowIndex))"
        let isAscending = "every((index, place, all) => place === 0 || index === all[place - 1] + 1)"
        #expect(try browser.wait(for: "\(order).\(isAscending)"))
        try checkLogs()
    }

    @Test func manyChangesAreToldToScreenReadersInFewSentences() throws {
        try openRows()
        try browser.run(
            """
            window.told = [];
            new MutationObserver(() => told.push(part('spoken').textContent)).observe(part('spoken'), { childList: true });
            """)
        for number in 0..<20 {
            try page.insert(30_000 + number..<30_001 + number)
            usleep(50_000)
        }
        try page.insert(40_000..<40_007)
        #expect(try browser.wait(for: "browser.rows.count === 20027 && told.length > 1"))
        #expect(try browser.wait(for: "told.at(-1) === part('lastChange').textContent"))
        #expect(try browser.number("told.length") < 8)
        #expect(try browser.text("part('spoken').role || part('spoken').getAttribute('role')") == "status")
    }

    @Test func theFilterLeavesCachesWithItsText() throws {
        let request = try #require(BrowsedPage.caches["by group"])
        for number in 1...12 { try page.container.withOrder(request, .init(cacheName: "cache \(number)")) { _ in } }
        try waitForOverview()
        let shown = "[...document.querySelectorAll('#chips a')].filter(link => link.getClientRects().length > 0)"
        #expect(try browser.wait(for: "\(shown).length === 14 && !part('filter').hidden"))
        try browser.run("part('filterText').focus()")
        try browser.press("E", " ", "1", "2")
        #expect(try browser.wait(for: "\(shown).length === 1 && \(shown)[0].textContent === 'cache 12 fresh'"))
        #expect(try browser.text("part('filtered').textContent") == "1 of 14 caches")
        #expect(try browser.wait(for: "part('spoken').textContent === '1 of 14 caches'"))
        #expect(try browser.number("document.querySelectorAll('.card:not([hidden])').length") == 1)
    }

    @Test func theRowsArePrintedOnOnePage() throws {
        try openRows()
        let pages = try browser.printed().components(separatedBy: "/Type /Page\n").count - 1
        #expect(pages == 1)
    }
}
