// What users of FetchIndex write and get lives in the modules that know it; importing FetchIndex is enough.
@_exported public import OrderCaches
@_exported public import Predicates
@_exported public import Records
@_exported public import Values
