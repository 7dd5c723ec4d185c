#!/usr/bin/env python3
"""Compiles models as Core Data does: from the XML of a bundle's versions to keyed archives.

The form of the archives is that of real files: the names of classes and members, the numbers of types, references by UID,
a dictionary of known keys for the entities. Nothing of a real file is copied.

The last file is a store without objects: it has the tables by which one is recognized, and the current version's model.

usage: make_models.py Models/Library.xcdatamodeld Models/Library.momd Models/Library.sqlite
"""
import pathlib
import plistlib
import sqlite3
import sys
import zlib
import xml.etree.ElementTree as ElementTree

TYPES = {"Integer 16": 100, "Integer 32": 200, "Integer 64": 300, "Decimal": 400, "Double": 500, "Float": 600, "String": 700,
         "Boolean": 800, "Date": 900, "Binary": 1000, "UUID": 1100, "URI": 1200, "Transformable": 1800}
RULES = {"No Action": 0, "Nullify": 1, "Cascade": 2, "Deny": 3}


class Archive:
    def __init__(self):
        self.objects = ["$null"]
        self.classes = {}
        self.texts = {}

    def reserve(self):
        self.objects.append(None)
        return plistlib.UID(len(self.objects) - 1)

    def add(self, value):
        if value is None:
            return plistlib.UID(0)
        if isinstance(value, str):
            if value not in self.texts:
                self.texts[value] = self.reserve()
                self.objects[self.texts[value].data] = value
            return self.texts[value]
        place = self.reserve()
        self.objects[place.data] = value
        return place

    def class_of(self, *names):
        if names not in self.classes:
            self.classes[names] = self.add({"$classname": names[0], "$classes": list(names) + ["NSObject"]})
        return self.classes[names]

    def object(self, name, place=None, **members):
        place = place or self.reserve()
        self.objects[place.data] = dict(members, **{"$class": self.class_of(name)})
        return place

    def array(self, items):
        return self.object("NSMutableArray", **{"NS.objects": list(items)})

    def dictionary(self, members):
        return self.object("NSMutableDictionary", **{
            "NS.keys": [self.add(key) for key in members], "NS.objects": list(members.values())})

    def known_keys(self, members):
        keys = self.array([self.add(key) for key in members])
        mapping = self.object("NSKnownKeysMappingStrategy1", length=len(members), keys=keys, version=1)
        values = self.object("NSArray", **{"NS.objects": list(members.values())})
        return self.object("NSKnownKeysDictionary1", values=values, searchMapping=mapping, version=1)

    def user_info(self, element):
        return self.dictionary({e.get("key"): self.add(e.get("value")) for e in element.findall("userInfo/entry")})


class Predicates:
    """Archived predicates, as Foundation writes them."""

    COMPARATORS = {"<": 0, "<=": 1, ">": 2, ">=": 3, "==": 4, "!=": 5, "LIKE": 7, "BEGINSWITH": 8, "IN": 10, "BETWEEN": 100}
    OPERATORS = {4: "Equality", 5: "Equality", 7: "Like", 8: "Substring", 10: "In", 100: "Between"}

    def __init__(self, archive):
        self.archive = archive
        self.this = archive.object("NSSelfExpression", NSExpressionType=1)

    def compare(self, left, comparator, right, options=0, modifier=0):
        kind = self.COMPARATORS[comparator]
        members = {"NSNegate": kind == 5} if kind in (4, 5) else {"NSVariant": kind} if kind < 4 else {}
        members["NSOptions" if kind < 6 else "NSFlags"] = options
        operator = self.archive.object(
            f"NS{self.OPERATORS.get(kind, 'Comparison')}PredicateOperator", NSOperatorType=kind, NSModifier=modifier, **members)
        return self.archive.object(
            "NSComparisonPredicate", NSLeftExpression=left, NSRightExpression=right, NSPredicateOperator=operator)

    def compound(self, kind, *parts):
        return self.archive.object(
            "NSCompoundPredicate", NSCompoundPredicateType=["NOT", "AND", "OR"].index(kind),
            NSSubpredicates=self.archive.array(parts))

    def path(self, path, operand=None):
        specifier = self.archive.object("NSKeyPathSpecifierExpression", NSExpressionType=10, NSKeyPath=self.archive.add(path))
        selector = "valueForKeyPath:" if "." in path or operand else "valueForKey:"
        return self.archive.object(
            "NSFunctionExpression" if operand else "NSKeyPathExpression", NSExpressionType=4 if operand else 3,
            NSOperand=operand or self.this, NSSelectorName=self.archive.add(selector),
            NSArguments=self.archive.array([specifier]))

    def constant(self, value):
        return self.archive.object("NSConstantValueExpression", NSExpressionType=0, NSConstantValue=self.archive.add(value))

    def variable(self, name):
        return self.archive.object("NSVariableExpression", NSExpressionType=2, NSVariable=self.archive.add(name))

    def collection(self, *elements):
        return self.archive.object(
            "NSAggregateExpression", NSExpressionType=14, NSCollection=self.archive.array(elements))

    def function(self, name, *arguments):
        utilities = self.archive.object(
            "NSConstantValueExpression", NSExpressionType=0, NSConstantValueClassName=self.archive.add("_NSPredicateUtilities"))
        return self.archive.object(
            "NSFunctionExpression", NSExpressionType=4, NSOperand=utilities, NSSelectorName=self.archive.add(name),
            NSArguments=self.archive.array(arguments))

    def under(self):
        return self.compound(
            "AND", self.compare(self.path("price"), "<", self.variable("LIMIT")),
            self.compare(self.path("publisher.name"), "BEGINSWITH", self.variable("NAME"), options=3))

    def odd(self):
        texts = self.collection(self.constant('a "b"'), self.constant("c"))
        return self.compound(
            "OR", self.compound("NOT", self.compare(self.path("title"), "IN", texts)),
            self.compound(
                "AND", self.compare(self.path("tags.name"), "LIKE", self.constant("x*"), options=1, modifier=2),
                self.archive.object("NSTruePredicate")))

    def sums(self):
        date = self.archive.object("NSDate", **{"NS.time": 0.0})
        named = self.compare(self.path("name", self.variable("t")), "!=", self.archive.object(
            "NSConstantValueExpression", NSExpressionType=0, NSConstantValue=self.archive.object("NSNull")))
        count = self.path("@count", self.archive.object(
            "NSSubqueryExpression", NSExpressionType=13, NSExpression=self.path("tags"),
            NSVariable=self.archive.add("t"), NSSubpredicate=named))
        first = self.archive.object("NSConstantValueExpression", NSExpressionType=0, NSConstantValue=date)
        return self.compound(
            "AND", self.compare(self.function("multiply:by:", self.path("price"), self.constant(2)), ">=", self.constant(3.5)),
            self.compare(count, ">", self.constant(1)), self.compare(self.path("publisher"), "==", self.variable("P")),
            self.compare(self.path("added"), "BETWEEN", self.collection(first, self.variable("E"))))


def template(archive, entity, name):
    """A fetch request template. Xcode writes neither limits nor other options into a compiled model."""
    make = {"BooksUnder": Predicates.under, "Odd": Predicates.odd, "Sums": Predicates.sums}.get(name)
    predicate = make(Predicates(archive)) if make else plistlib.UID(0)
    return archive.object(
        "NSFetchRequest", NSEntity=entity, NSPredicate=predicate, NSSortDescriptors=plistlib.UID(0), NSFetchLimit=0,
        NSFetchOffset=0, NSBatchSize=0, NSResultType=0, NSHasFetchRequestFlags=True, NSFetchRequestFlags=30)


def default(archive, element):
    kind, text = element.get("attributeType"), element.get("defaultValueString")
    if kind == "Date" and element.get("defaultDateTimeInterval"):
        return archive.object("NSDate", **{"NS.time": float(element.get("defaultDateTimeInterval"))})
    if text is None or kind in ("Binary", "Transformable", "UUID"):
        return archive.add(None)
    if kind == "Boolean":
        return archive.add(text == "YES")
    if kind.startswith("Integer"):
        return archive.add(int(text))
    if kind in ("Double", "Float"):
        return archive.add(float(text))
    if kind == "Decimal":
        whole, _, fraction = text.lstrip("-").partition(".")
        number = int(whole + fraction)
        return archive.object(
            "NSDecimalNumber", **{"NS.mantissa": number.to_bytes(16, "little"), "NS.exponent": -len(fraction),
                                  "NS.negative": text.startswith("-"), "NS.compact": True, "NS.length": 1,
                                  "NS.mantissa.bo": 1})
    return archive.add(text)


def compile_model(path):
    root = ElementTree.parse(path).getroot()
    archive = Archive()
    model = archive.reserve()
    elements = {e.get("name"): e for e in root.findall("entity")}
    places = {name: archive.reserve() for name in elements}
    properties = {(name, r.get("name")): archive.reserve() for name, e in elements.items() for r in e
                  if r.tag in ("attribute", "relationship")}
    yes = lambda element, key: element.get(key) == "YES"
    for name, element in elements.items():
        members = {}
        for child in element:
            if child.tag not in ("attribute", "relationship"):
                continue
            own, place = child.get("name"), properties[name, child.get("name")]
            common = {"NSPropertyName": archive.add(own), "NSEntity": places[name], "_P": 0,
                      "NSRenamingIdentifier": archive.add(child.get("elementID") or own)}
            if yes(child, "optional"):
                common["NSIsOptional"] = True
            if yes(child, "transient"):
                common["NSIsTransient"] = True
            if child.get("attributeType") == "Composite":
                parts = [archive.object(
                    "NSAttributeDescription", NSPropertyName=archive.add(part.get("name")), NSFlagsKey=0, _P=0,
                    NSRenamingIdentifier=archive.add(part.get("name")), NSIsOptional=yes(part, "optional"),
                    NSAttributeType=TYPES[part.get("attributeType")], NSDefaultValue=archive.add(None))
                    for part in root.find(f"composite[@name='{child.get('compositeName')}']")]
                archive.object(
                    "NSCompositeAttributeDescription", place, NSAttributeType=2100, NSCompositeElements=archive.array(parts),
                    NSFlagsKey=0, NSDefaultValue=archive.add(None), **common)
            elif child.tag == "attribute":
                rules = [child.get(k) for k in ("minValueString", "maxValueString") if child.get(k)]
                if rules:
                    common["NSValidationPredicates"] = archive.array(
                        [archive.object("NSComparisonPredicate", NSRightExpression=archive.add(rule)) for rule in rules])
                archive.object(
                    "NSAttributeDescription", place, NSAttributeType=TYPES.get(child.get("attributeType"), 0),
                    NSDefaultValue=default(archive, child),
                    NSValueTransformerName=archive.add(child.get("valueTransformerName")),
                    NSFlagsKey=4 if yes(child, "allowsExternalBinaryDataStorage") else 0, **common)
            else:
                inverse, destination = child.get("inverseName"), child.get("destinationEntity")
                if yes(child, "ordered"):
                    common["NSIsOrdered"] = True
                archive.object(
                    "NSRelationshipDescription", place, NSDestinationEntity=places[destination],
                    NSInverseRelationship=properties.get((destination, inverse), plistlib.UID(0)),
                    NSMinCount=int(child.get("minCount", 0)),
                    NSMaxCount=int(child.get("maxCount", 0 if yes(child, "toMany") else 1)),
                    NSDeleteRule=RULES[child.get("deletionRule")], _NSDestinationEntityName=archive.add(destination),
                    _NSInverseRelationshipName=archive.add(inverse), **common)
            members[own] = place
        extra = {}
        if yes(element, "isAbstract"):
            extra["NSIsAbstract"] = True
        unique = [[c.get("value") for c in u] for u in element.findall("uniquenessConstraints/uniquenessConstraint")]
        if unique:
            extra["NSUniqueTuples"] = archive.array(
                archive.array(archive.add(n) for n in names) for names in unique)
        indexes = []
        for index in element.findall("fetchIndex"):
            parts = [archive.object(
                "NSFetchIndexElementDescription", NSPropertyName=archive.add(p.get("property")),
                NSFetchIndexElementType=1 if p.get("type") == "RTree" else 0, NSAscending=p.get("order") == "ascending")
                for p in index]
            indexes.append(archive.object(
                "NSFetchIndexDescription", NSIndexName=archive.add(index.get("name")), NSEntity=places[name],
                NSIndexElements=archive.array(parts), NSPartialIndexPredicate=archive.add(None)))
        if indexes:
            extra["NSFetchIndexDescriptions"] = archive.array(indexes)
        children = {n: places[n] for n, e in elements.items() if e.get("parentEntity") == name}
        archive.object(
            "NSEntityDescription", places[name], NSEntityName=archive.add(name),
            NSClassNameForEntity=archive.add(element.get("representedClassName") or "NSManagedObject"),
            NSProperties=archive.dictionary(members), NSSubentities=archive.dictionary(children),
            NSSuperentity=places.get(element.get("parentEntity"), plistlib.UID(0)), NSManagedObjectModel=model,
            NSRenamingIdentifier=archive.add(element.get("elementID") or name), NSVersionHashModifier=archive.add(None),
            NSUserInfo=archive.user_info(element), **extra)
    templates = {r.get("name"): template(archive, places[r.get("entity")], r.get("name"))
                 for r in root.findall("fetchRequest")}
    configurations = {c.get("name"): archive.array(places[m.get("name")] for m in c) for c in root.findall("configuration")}
    if configurations:
        configurations["PF_DEFAULT_CONFIGURATION_NAME"] = archive.array(places.values())
    identifiers = [archive.add(i) for i in [root.get("userDefinedModelVersionIdentifier")] if i]
    archive.object(
        "NSManagedObjectModel", model, NSEntities=archive.known_keys(places),
        NSFetchRequestTemplates=archive.dictionary(templates) if templates else plistlib.UID(0),
        NSVersionIdentifiers=archive.object("NSSet", **{"NS.objects": identifiers}),
        **({"NSConfigurations": archive.dictionary(configurations)} if configurations else {}))
    document = {"$version": 100000, "$archiver": "NSKeyedArchiver", "$top": {"root": model}, "$objects": archive.objects}
    return plistlib.dumps(document, fmt=plistlib.FMT_BINARY, sort_keys=False)


def make_odd_templates(path):
    """A model whose fetch request templates have odd or damaged predicates, each named after its oddity."""
    archive = Archive()
    model, entity = archive.reserve(), archive.reserve()
    names = ["name", "no"]
    properties = {n: archive.object(
        "NSAttributeDescription", NSPropertyName=archive.add(n), NSAttributeType=700, NSIsOptional=True) for n in names}
    archive.object(
        "NSEntityDescription", entity, NSEntityName=archive.add("Thing"), NSProperties=archive.dictionary(properties),
        NSClassNameForEntity=archive.add("NSManagedObject"), NSSuperentity=plistlib.UID(0))
    make = Predicates(archive)
    plain = make.compare(make.path("name"), "==", make.constant("v"))
    null = archive.object("NSConstantValueExpression", NSExpressionType=0)
    long_text = archive.add("x" * 2000)
    texts = archive.object("NSArray", **{"NS.objects": [long_text] * 2000})
    long_list = archive.object("NSConstantValueExpression", NSExpressionType=0, NSConstantValue=texts)
    deep = plain
    for _ in range(200):
        deep = make.compound("NOT", deep)
    loop = archive.reserve()
    archive.object("NSCompoundPredicate", loop, NSCompoundPredicateType=1, NSSubpredicates=archive.array([loop]))
    predicates = {
        "keyword": make.compare(make.path("no"), "==", make.constant("v")),
        "power": make.compare(make.function("raise:toPower:", make.constant(-2), make.constant(2)), "==", make.constant(4)),
        "text": make.compare(make.path("name"), "==", make.constant('a "b" \\\n')),
        "parts missing": archive.object("NSCompoundPredicate", NSCompoundPredicateType=1),
        "part null": make.compound("AND", plain, plistlib.UID(0)),
        "type missing": archive.object("NSCompoundPredicate", NSSubpredicates=archive.array([plain])),
        "constant missing": make.compare(make.path("name"), "==", null),
        "list of others": make.compare(make.path("name"), "IN", make.collection(make.constant("a"), long_text)),
        "not a predicate": archive.add("name == 1"),
        "not a path": make.compare(make.path("name == 1 OR name"), "==", make.constant("v")),
        "not a variable": make.compare(make.path("name"), "==", make.variable("x OR TRUEPREDICATE")),
        "unknown option": make.compare(make.path("name"), "==", make.constant("v"), options=16),
        "too long": make.compare(make.path("name"), "IN", long_list),
        "too deep": deep,
        "circle": loop,
    }
    templates = {n: archive.object("NSFetchRequest", NSEntity=entity, NSPredicate=p) for n, p in predicates.items()}
    archive.object(
        "NSManagedObjectModel", model, NSEntities=archive.known_keys({"Thing": entity}),
        NSFetchRequestTemplates=archive.dictionary(templates))
    document = {"$version": 100000, "$archiver": "NSKeyedArchiver", "$top": {"root": model}, "$objects": archive.objects}
    path.write_bytes(plistlib.dumps(document, fmt=plistlib.FMT_BINARY, sort_keys=False))


def make_store(path, archive):
    path.unlink(missing_ok=True)
    store = sqlite3.connect(path)
    store.execute("CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)")
    store.execute("CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)")
    packer = zlib.compressobj(wbits=-15)
    store.execute("INSERT INTO Z_MODELCACHE VALUES (?)", [packer.compress(archive) + packer.flush()])
    store.commit()
    store.close()


def main():
    source, target, store = map(pathlib.Path, sys.argv[1:4])
    target.mkdir(exist_ok=True)
    current = plistlib.loads((source / ".xccurrentversion").read_bytes())["_XCCurrentVersionName"]
    for version in source.glob("*.xcdatamodel"):
        (target / (version.stem + ".mom")).write_bytes(compile_model(version / "contents"))
    information = {"NSManagedObjectModel_CurrentVersionName": current.removesuffix(".xcdatamodel"),
                   "NSManagedObjectModel_VersionHashes": {}}
    make_store(store, compile_model(source / current / "contents"))
    make_odd_templates(target.parent / "OddTemplates.mom")
    (target / "VersionInfo.plist").write_bytes(plistlib.dumps(information, fmt=plistlib.FMT_BINARY))


main()
