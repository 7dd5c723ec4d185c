#!/usr/bin/env python3
"""Makes stores of the model Stores/Shop.xcdatamodeld in the layout of Core Data, with random objects, and says what is in them.

Shop.sqlite and Shop2.sqlite are two copies of one store: between them, objects were changed, deleted and added. NAME.jsonl
has a line for each object of NAME.sqlite: its id, its values as texts, and the ids of its related objects. Shop2.sqlite is
in WAL mode, and most of its changes are in Shop2.sqlite-wal only. ShopOld.sqlite has no model of its own.

The layout is described in the article CoreDataLayout. Nothing of a real store is copied.

usage: make_stores.py Stores [SEED]
"""
import json
import pathlib
import random
import shutil
import sqlite3
import sys
import uuid
import zlib

SOURCE = (pathlib.Path(__file__).parent / "make_models.py").read_text().rsplit("\nmain()", 1)[0]
MODELS = {}
exec(SOURCE, MODELS)

# Numbers of entities: the topmost by name without regard to case, each followed by its subentities.
NUMBERS = {"Card": 1, "label": 2, "Note": 3, "Person": 4, "Shelf": 5, "Thing": 6, "Item": 7, "Special": 8, "Service": 9}
SUPER = {"Item": "Thing", "Special": "Item", "Service": "Thing"}
TABLES = {
    # "title" and "state" occur at several depths, so the deeper ones have digits: Item.state, then Service.state, then Special.STATE.
    "ZTHING": "ZSTATE INTEGER, ZSTATE2 INTEGER, ZISOPEN INTEGER, ZSHELF INTEGER, ZMADE TIMESTAMP, ZPRICE DECIMAL, ZHOURS FLOAT, "
              "ZWEIGHT FLOAT, ZTITLE VARCHAR, ZSTATE1 VARCHAR, ZTITLE1 VARCHAR, ZPICTURE BLOB",
    "ZLABEL": "ZWORD VARCHAR",
    # The part "name" of the composite attribute "address" precedes the attribute "name".
    "ZPERSON": "ZMOOD INTEGER, ZCARD INTEGER, ZSPOUSE INTEGER, ZNAME VARCHAR, ZNAME1 VARCHAR, ZPAGE VARCHAR, ZID BLOB, ZLINES BLOB, "
               "ZARCHIVE BLOB",
    "ZCARD": "ZNUMBER INTEGER, ZOWNER INTEGER",
    # Person.notes has no inverse, so its links are in the destination's table.
    "ZNOTE": "Z4NOTES INTEGER, Z_FOK_4NOTES INTEGER, ZTEXT VARCHAR",
    "ZSHELF": "ZABOVE INTEGER, Z_FOK_ABOVE INTEGER, ZPLACE VARCHAR",
}
JOINS = {
    # Two relationships lead from Item to Person. The columns are unique in the file, so the second ones would have digits.
    "Z_4LIKED": "Z_4LIKES INTEGER, Z_7LIKED INTEGER, Z_FOK_4LIKES INTEGER, Z_FOK_7LIKED INTEGER, PRIMARY KEY (Z_4LIKES, Z_7LIKED)",
    "Z_4BOUGHT": "Z_4SOLD INTEGER, Z_7BOUGHT INTEGER, PRIMARY KEY (Z_4SOLD, Z_7BOUGHT)",
    "Z_2THINGS": "Z_2LABELS1 INTEGER, Z_6THINGS INTEGER, PRIMARY KEY (Z_2LABELS1, Z_6THINGS)",
    "Z_4FRIENDS": "Z_4FRIENDS INTEGER, REFLEXIVE INTEGER, PRIMARY KEY (Z_4FRIENDS, REFLEXIVE)",
}
TEXTS = ["", "apple", "Ünal", "ß", "😀", "a\nb", "file10", "file2", "naïve", "e\u0301", "null\0byte"]


class Shop:
    """The objects, by entity and key."""

    def __init__(self, rng):
        self.rng = rng
        # The JSON of the archives.
        self.decoded = {}
        self.objects = {name: {} for name in NUMBERS}
        self.next = {name: 1 for name in NUMBERS}
        self.links = {name: {} for name in ("likes", "sold", "labels", "friends")}
        for _ in range(2):
            for entity in ("Shelf", "label", "Person", "Item", "Special", "Service", "Item", "Note", "Card"):
                for _ in range(rng.randint(6, 12)):
                    self.add(entity)
        for _ in range(150):
            self.link()

    def root(self, entity):
        return self.root(SUPER[entity]) if entity in SUPER else entity

    def some(self, *entities):
        found = [(entity, key) for entity in entities for key in self.objects[entity]]
        return self.rng.choice(found) if found else None

    def key(self, *entities):
        found = self.some(*entities)
        return found[1] if found and self.rng.random() < 0.8 else None

    def text(self):
        return self.rng.choice(TEXTS) + "".join(self.rng.choice("abcXYZ ") for _ in range(self.rng.randint(0, 5)))

    def values(self, entity):
        rng = self.rng
        maybe = lambda value: value if rng.random() < 0.7 else None
        if entity in ("Item", "Special", "Service"):
            values = {"title": self.text(), "made": maybe(rng.choice([0, -31622400, 7e8 + rng.random(), 1e15, -1e-9]))}
            if entity == "Service":
                return values | {"hours": maybe(rng.choice([0.5, 1e300, -2.25])), "state": maybe(self.text()), "isOpen": rng.randint(0, 1)}
            values |= {"price": maybe(rng.choice([3, 0.1, 759.54, -12, 10 ** 12])), "state": rng.randint(-9, 9),
                       "picture": maybe(bytes(rng.randrange(256) for _ in range(rng.choice([0, 1, 20, 300]))))}
            if entity == "Special":
                values |= {"Title": maybe(self.text()), "STATE": maybe(rng.choice([-2 ** 63, 2 ** 63 - 1, 0])), "weight": maybe(rng.random())}
            return values
        number = self.next["Card"] * 10 + rng.randint(0, 9)
        return {"label": {"word": f"{self.text()} {len(self.objects['label'])} {rng.random()}"}, "Note": {"text": self.text()},
                "Shelf": {"place": self.text()}, "Card": {"number": number},
                "Person": {"id": uuid.UUID(int=rng.getrandbits(128)), "name": self.text(),
                           "page": maybe(f"https://example.org/{rng.randint(0, 9)}"),
                           "archive": maybe(self.archive()), "mood": maybe(rng.randint(0, 3)), "address.name": maybe(self.text()),
                           "address.lines": maybe(self.lines_of_address())}}[entity]

    def lines_of_address(self):
        """A list of structures as SwiftData writes it: JSON whose members are in no fixed order."""
        lines = []
        for number in range(self.rng.randint(0, 3)):
            members = [("line", self.rng.choice(["a", "ä/b"])), ("number", number), ("open", self.rng.random() < 0.5)]
            self.rng.shuffle(members)
            lines.append(dict(members))
        return json.dumps(lines, ensure_ascii=False, separators=(",", ":")).encode()

    def archive(self):
        """A keyed archive of plain values, or another one."""
        archive = MODELS["Archive"]()
        root = archive.reserve()

        def add(value):
            if isinstance(value, dict):
                return archive.object("NSDictionary", **{
                    "NS.keys": [archive.add(key) for key in value], "NS.objects": [add(v) for v in value.values()]})
            # A tuple is a set, whose elements have no order.
            if isinstance(value, (list, tuple)):
                return archive.object("NSArray" if isinstance(value, list) else "NSSet", **{"NS.objects": [add(v) for v in value]})
            if isinstance(value, uuid.UUID):
                return archive.object("NSUUID", **{"NS.uuidbytes": value.bytes})
            return archive.add(value)

        plain, shown = self.rng.choice([
            ({"b": [1, 2.5, "x", True], "a": {"": "ä"}}, '{"a":{"":"ä"},"b":[1,2.5,"x",true]}'), ([[], {}], "[[],{}]"),
            (("z", "y"), '["y","z"]'), ([uuid.UUID(int=5), b"\x01\xff"], '["00000000-0000-0000-0000-000000000005","01ff"]')])
        archive.objects[root.data] = archive.objects[add(plain).data]
        document = {"$version": 100000, "$archiver": "NSKeyedArchiver", "$top": {"root": root}, "$objects": archive.objects}
        made = MODELS["plistlib"].dumps(document, fmt=MODELS["plistlib"].FMT_BINARY, sort_keys=False)
        self.decoded[made] = shown
        return made

    def add(self, entity):
        root = self.root(entity)
        key = self.next[root]
        # Keys have gaps.
        self.next[root] += self.rng.choice([1, 1, 1, 4])
        own = self.values(entity)
        if entity in ("Item", "Special"):
            own["shelf"] = self.key("Shelf")
        if entity == "Shelf":
            own["above"], own["above order"] = self.key("Shelf"), self.rng.randint(1, 9) * 1024
        if entity == "Note":
            own["notes"], own["notes order"] = self.key("Person"), self.rng.choice([None, 1024, 2048, 3072])
        if entity == "Card":
            free = [k for k, p in self.objects["Person"].items() if not p.get("card")]
            if not free:
                return
            own["owner"] = self.rng.choice(free)
            self.objects["Person"][own["owner"]]["card"] = key
        self.objects[entity][key] = own

    def link(self):
        rng = self.rng
        kind = rng.choice(list(self.links) + ["spouse"])
        if kind in ("likes", "sold"):
            item, person = self.some("Item", "Special"), self.some("Person")
            self.links[kind][item[1], person[1]] = (rng.randint(1, 5) * 1024, rng.randint(1, 5) * 1024)
        elif kind == "labels":
            thing, label = self.some("Item", "Special", "Service"), self.some("label")
            self.links[kind][thing[1], label[1]] = None
        else:
            one, other = self.some("Person")[1], self.some("Person")[1]
            people = self.objects["Person"]
            if kind == "friends":
                self.links[kind][min(one, other), max(one, other)] = None
            elif one != other and not people[one].get("spouse") and not people[other].get("spouse"):
                people[one]["spouse"], people[other]["spouse"] = other, one

    def delete(self, entity, key):
        del self.objects[entity][key]
        root = self.root(entity)
        side = {"likes": ("Thing", "Person"), "sold": ("Thing", "Person"), "labels": ("Thing", "label"), "friends": ("Person", "Person")}
        for kind, roots in side.items():
            self.links[kind] = {pair: o for pair, o in self.links[kind].items()
                                if not any(k == key and r == root for k, r in zip(pair, roots))}
        names = {"Shelf": ["shelf", "above"], "Person": ["spouse", "owner", "notes"], "Card": ["card"]}.get(root, [])
        for objects in self.objects.values():
            for own in objects.values():
                for name in names:
                    if own.get(name) == key:
                        own[name] = None

    def change(self, count):
        """Changes, deletes and adds objects, as an app does between two copies."""
        rng = self.rng
        for _ in range(count):
            entity = rng.choice([name for name in NUMBERS if name != "Thing" and self.objects[name]])
            key = rng.choice(list(self.objects[entity]))
            kind = rng.random()
            if kind < 0.2 and entity != "Person":
                self.delete(entity, key)
            elif kind < 0.5:
                self.add(rng.choice(["Item", "Special", "Service", "Person", "Note", "Shelf", "label"]))
            elif kind < 0.8:
                own = self.objects[entity][key]
                own |= {name: value for name, value in self.values(entity).items() if rng.random() < 0.5}
                if "shelf" in own:
                    own["shelf"] = self.key("Shelf")
            else:
                pairs = rng.choice([links for links in self.links.values() if links])
                del pairs[rng.choice(list(pairs))]
                self.link()
        # Two cards exchange their numbers, and two people their cards.
        one, other = rng.sample(list(self.objects["Card"].values()), 2)
        one["number"], other["number"] = other["number"], one["number"]
        one["owner"], other["owner"] = other["owner"], one["owner"]
        for own in self.objects["Person"].values():
            own["card"] = None
        for key, card in self.objects["Card"].items():
            if card["owner"]:
                self.objects["Person"][card["owner"]]["card"] = key
        # Two labels exchange their words.
        one, other = rng.sample(list(self.objects["label"].values()), 2)
        one["word"], other["word"] = other["word"], one["word"]

    # The store.

    def rows(self, entity, support):
        for key, own in self.objects[entity].items():
            row = {"Z_PK": key, "Z_ENT": NUMBERS[entity], "Z_OPT": self.rng.randint(1, 9)}
            columns = {"Title": "ZTITLE1", "STATE": "ZSTATE2", "notes": "Z4NOTES", "notes order": "Z_FOK_4NOTES", "above order": "Z_FOK_ABOVE"}
            if entity == "Service":
                columns["state"] = "ZSTATE1"
            if entity == "Person":
                columns |= {"name": "ZNAME1", "address.name": "ZNAME", "address.lines": "ZLINES"}
            for name, value in own.items():
                if isinstance(value, uuid.UUID):
                    value = value.bytes
                if name == "picture" and value is not None:
                    if len(value) > 100:
                        file = str(uuid.uuid5(uuid.NAMESPACE_OID, value.hex())).upper()
                        support.mkdir(parents=True, exist_ok=True)
                        (support / file).write_bytes(value)
                        value = b"\x02" + file.encode() + b"\0"
                    else:
                        value = b"\x01" + value
                row[columns.get(name, "Z" + name.upper())] = value
            if entity == "Service":
                # What a migration filled in for all rows of the table: it isn't the service's.
                row |= {"ZSTATE": 1, "ZPRICE": 0}
            yield row

    def write(self, path, model, in_log=False, old=False):
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        work = path.with_suffix(".making")
        store = sqlite3.connect(work)
        if in_log:
            store.execute("PRAGMA journal_mode=WAL")
            store.execute("PRAGMA wal_autocheckpoint=0")
        for table, columns in TABLES.items():
            store.execute(f"CREATE TABLE {table} ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, {columns} )")
        for table, columns in JOINS.items():
            store.execute(f"CREATE TABLE {table} ( {columns} )")
        # Tables that aren't entities.
        store.execute("CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZENTITY INTEGER )")
        store.execute("CREATE TABLE ANSCKRECORDMETADATA ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER )")
        store.execute("CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)")
        store.execute("CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)")
        store.execute("CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)")
        store.execute("CREATE INDEX ZTHING_Z_ENT_INDEX ON ZTHING (Z_ENT)")
        store.commit()
        if in_log:
            store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for name, number in NUMBERS.items():
            # After a migration, the table of keys may have an entity's old name.
            stored = "Shelves" if name == "Shelf" else name
            store.execute("INSERT INTO Z_PRIMARYKEY VALUES (?, ?, ?, ?)",
                          [number, stored, NUMBERS.get(SUPER.get(name), 0), self.next[self.root(name)] - 1 if name not in SUPER else 0])
        store.execute("INSERT INTO Z_PRIMARYKEY VALUES (16001, 'CHANGE', 0, 0)")
        store.execute("INSERT INTO Z_METADATA VALUES (1, '5E9C1F1B-0A51-4D3C-8D4C-2C3E4B5A6978', NULL)")
        if not old:
            packer = zlib.compressobj(wbits=-15)
            store.execute("INSERT INTO Z_MODELCACHE VALUES (?)", [packer.compress(model) + packer.flush()])
        support = path.parent / f".{path.stem}_SUPPORT" / "_EXTERNAL_DATA"
        shutil.rmtree(support.parent, ignore_errors=True)
        for entity in NUMBERS:
            for row in self.rows(entity, support):
                names = ", ".join(row)
                store.execute(f"INSERT INTO Z{self.root(entity).upper()} ({names}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
        for (item, person), (order, other) in self.links["likes"].items():
            # The position of the person among the item's, and of the item among the person's.
            store.execute("INSERT INTO Z_4LIKED VALUES (?, ?, ?, ?)", [person, item, order, other])
        for item, person in self.links["sold"]:
            store.execute("INSERT INTO Z_4BOUGHT VALUES (?, ?)", [person, item])
        for thing, label in self.links["labels"]:
            store.execute("INSERT INTO Z_2THINGS VALUES (?, ?)", [label, thing])
        for one, other in self.links["friends"]:
            for pair in {(one, other), (other, one)}:
                store.execute("INSERT INTO Z_4FRIENDS VALUES (?, ?)", pair)
        store.commit()
        shutil.copy(work, path)
        if in_log:
            shutil.copy(f"{work}-wal", f"{path}-wal")
        store.close()
        for suffix in ("", "-wal", "-shm"):
            work.with_name(work.name + suffix).unlink(missing_ok=True)

    # What is in it.

    def lines(self):
        def name(kind, key):
            return next(f"{entity}/p{key}" for entity in NUMBERS if self.root(entity) == kind and key in self.objects[entity])

        def ordered(links):
            return [id for _, _, id in sorted(links)]

        for entity in NUMBERS:
            for key, own in sorted(self.objects[entity].items()):
                values = {n: self.shown(n, v) for n, v in own.items()
                          if n not in ("shelf", "above", "notes", "owner", "card", "spouse") and "order" not in n}
                related = {}
                for relationship, kind in (("shelf", "Shelf"), ("above", "Shelf"), ("owner", "Person"), ("card", "Card"), ("spouse", "Person")):
                    belongs = {"shelf": ("Item", "Special"), "above": ("Shelf",), "owner": ("Card",), "card": ("Person",), "spouse": ("Person",)}
                    if entity in belongs[relationship]:
                        related[relationship] = [name(kind, own[relationship])] if own.get(relationship) else []
                if entity == "Shelf":
                    related["below"] = ordered((o["above order"], k, f"Shelf/p{k}") for k, o in self.objects["Shelf"].items() if o["above"] == key)
                    related["items"] = sorted(name("Thing", k) for e in ("Item", "Special") for k, o in self.objects[e].items() if o["shelf"] == key)
                if entity in ("Item", "Special"):
                    related["likes"] = ordered((o[0], p, f"Person/p{p}") for (i, p), o in self.links["likes"].items() if i == key)
                    related["sold"] = sorted(f"Person/p{p}" for i, p in self.links["sold"] if i == key)
                if entity in ("Item", "Special", "Service"):
                    related["labels"] = sorted(f"label/p{l}" for t, l in self.links["labels"] if t == key)
                if entity == "label":
                    related["things"] = sorted(name("Thing", t) for t, l in self.links["labels"] if l == key)
                if entity == "Person":
                    # Of equal positions, the entity and then the key decide, as our order of links does.
                    related["liked"] = ordered((o[1], (NUMBERS[name("Thing", i).split("/")[0]], i), name("Thing", i))
                                               for (i, p), o in self.links["likes"].items() if p == key)
                    related["bought"] = sorted(name("Thing", i) for i, p in self.links["sold"] if p == key)
                    related["friends"] = sorted({f"Person/p{b if a == key else a}" for a, b in self.links["friends"] if key in (a, b)})
                    # A note without a position is the last one.
                    related["notes"] = ordered((o["notes order"] or 1e9, k, f"Note/p{k}") for k, o in self.objects["Note"].items() if o["notes"] == key)
                line = {"id": f"{entity}/p{key}", "values": values, "related": related}
                if own.get("archive"):
                    line["decoded"] = {"archive": self.decoded[own["archive"]]}
                if own.get("address.lines"):
                    sorted_lines = json.dumps(json.loads(own["address.lines"]), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
                    line.setdefault("decoded", {})["address.lines"] = sorted_lines
                    values["address.lines"] = sorted_lines.encode().hex()
                yield json.dumps(line, ensure_ascii=False)

    @staticmethod
    def shown(name, value):
        if value is None:
            return None
        if isinstance(value, bytes):
            return value.hex()
        if name in ("made", "hours", "weight"):
            return float(value).hex()
        return str(value).upper() if isinstance(value, uuid.UUID) else str(value)


def main():
    target = pathlib.Path(sys.argv[1])
    shop = Shop(random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1))
    bundle = pathlib.Path(__file__).parent / "Stores" / "Shop.xcdatamodeld"
    model = MODELS["compile_model"](bundle / "Shop.xcdatamodel" / "contents")
    for name, options in (("Shop", {}), ("ShopOld", {"old": True}), ("Shop2", {"in_log": True})):
        if name == "Shop2":
            shop.change(60)
        shop.write(target / f"{name}.sqlite", model, **options)
        (target / f"{name}.jsonl").write_text("".join(line + "\n" for line in shop.lines()))


main()
