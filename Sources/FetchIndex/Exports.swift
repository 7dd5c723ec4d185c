// The vocabularies that FetchIndex passes on: importing it is enough.
@_exported public import Models
@_exported public import Predicates
@_exported public import Values
