/// A section key that is made of a class's key paths: `sectionKey: .attribute(\.publisher)`. It groups rows like the
/// ``SectionKey`` that is made of the attributes' names. The path may lead through to-one relationships:
/// `.attribute(\.author?.name)`.
///
/// The functions below trap unless the key path is that of an `@Attribute`.
public struct ObjectSectionKey<Object: ManagedObject>: Hashable, Sendable {
    public let untyped: SectionKey

    /// Groups rows by the exact value of an attribute.
    public static func attribute(_ keyPath: KeyPath<Object, some AttributeValue>) -> ObjectSectionKey {
        ObjectSectionKey(untyped: .attribute(Object.attributeName(of: keyPath)))
    }

    /// Groups rows by the first letters of a text attribute.
    public static func prefix(_ keyPath: KeyPath<Object, some TextAttributeValue>, _ length: Int) -> ObjectSectionKey {
        ObjectSectionKey(untyped: .prefix(Object.attributeName(of: keyPath), length))
    }

    /// Groups rows by the day, week, month, quarter or year of a date attribute in a time zone.
    public static func date(
        _ keyPath: KeyPath<Object, some AttributeValue>, _ unit: CalendarUnit, timeZone: String = "UTC",
        calendar: SectionCalendar = .iso8601
    ) -> ObjectSectionKey {
        ObjectSectionKey(
            untyped: .date(Object.attributeName(of: keyPath), unit, timeZone: timeZone, calendar: calendar))
    }

    /// Groups rows by intervals of a number attribute.
    public static func bucket(_ keyPath: KeyPath<Object, some AttributeValue>, width: Double) -> ObjectSectionKey {
        ObjectSectionKey(untyped: .bucket(Object.attributeName(of: keyPath), width: width))
    }

    /// Groups rows by the title of a text attribute in ICU's alphabetic index of a locale.
    public static func indexTitle(
        _ keyPath: KeyPath<Object, some TextAttributeValue>, locale: String
    ) -> ObjectSectionKey {
        ObjectSectionKey(untyped: .indexTitle(Object.attributeName(of: keyPath), locale: locale))
    }
}

extension FetchedResultsController {
    /// Makes a controller with a section key made of key paths: `sectionKey: .attribute(\.publisher)`. Throws the
    /// errors of the initializer with a ``SectionKey``.
    public convenience init(
        fetchRequest: FetchRequest<Object>, context: ManagedObjectContext, sectionKey: ObjectSectionKey<Object>,
        sectionOrder: SectionOrder = .byFirstRow, cacheName: String? = nil
    ) throws {
        try self.init(
            fetchRequest: fetchRequest, context: context, sectionKey: sectionKey.untyped, sectionOrder: sectionOrder,
            cacheName: cacheName)
    }
}
