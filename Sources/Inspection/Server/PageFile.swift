/// The script and style files of the live page.
enum PageFile: String {
    case basics = "basics.js"
    case list = "list.js"
    case overview = "overview.js"
    case rows = "rows.js"
    case search = "search.js"
    case page = "page.js"
    case style = "page.css"

    var type: String { self == .style ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8" }

    var content: [UInt8] {
        switch self {
        case .basics: PackageResources.basics_js
        case .list: PackageResources.list_js
        case .overview: PackageResources.overview_js
        case .rows: PackageResources.rows_js
        case .search: PackageResources.search_js
        case .page: PackageResources.page_js
        case .style: PackageResources.page_css
        }
    }
}
