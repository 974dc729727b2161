package sql

import (
	"slices"
	"strings"
)

// Unknown is the kind of what is not understood.
const Unknown = "UNKNOWN"

// kind is an index into kindNames.
type kind uint8

const (
	kindNone kind = iota
	kindUnknown

	// Those up to lastReading only read.
	kindSelect
	kindWith
	kindValues
	kindTable
	kindShow
	kindDescribe
	kindExplain
	kindExplainAnalyze
	kindPragma

	kindSelectInto
	kindSelectIntoOutfile
	kindSelectForUpdate
	kindSelectForShare
	kindFunction
	kindPragmaSet

	kindInsert
	kindUpsert
	kindUpdate
	kindDelete
	kindMerge
	kindReplace
	kindCopy
	kindLoad
	kindLoadData
	kindBulkInsert
	kindImport
	kindExport
	kindHandler

	kindCreate
	kindAlter
	kindDrop
	kindTruncate
	kindRename
	kindComment
	kindRefresh
	kindReindex
	kindCluster
	kindVacuum
	kindVacuumInto
	kindAnalyze
	kindOptimize
	kindRepair
	kindCheck
	kindChecksum
	kindAttach
	kindDetach

	kindGrant
	kindRevoke
	kindDeny
	kindReassign
	kindSecurity

	kindBegin
	kindCommit
	kindRollback
	kindSavepoint
	kindRelease
	kindLock
	kindUnlock
	kindXA

	kindCall
	kindDo
	kindPrepare
	kindExecute
	kindDeallocate
	kindDeclare
	kindOpen
	kindFetch
	kindMove
	kindClose
	kindListen
	kindUnlisten
	kindNotify
	kindDiscard

	kindSet
	kindReset
	kindUse
	kindCheckpoint
	kindKill
	kindShutdown
	kindRestart
	kindFlush
	kindPurge
	kindInstall
	kindUninstall
	kindChange
	kindStart
	kindStop
	kindClone
	kindBinlog
	kindBackup
	kindRestore
	kindDbcc
	kindReconfigure
	kindRevert
	kindIf
	kindWhile
	kindReturn
	kindGoto
	kindPrint
	kindRaiserror
	kindWaitfor
	kindSignal

	kinds

	lastReading = kindPragma
)

var kindNames = [kinds]string{
	kindUnknown:           Unknown,
	kindSelect:            "SELECT",
	kindWith:              "WITH",
	kindValues:            "VALUES",
	kindTable:             "TABLE",
	kindShow:              "SHOW",
	kindDescribe:          "DESCRIBE",
	kindExplain:           "EXPLAIN",
	kindExplainAnalyze:    "EXPLAIN ANALYZE",
	kindPragma:            "PRAGMA",
	kindSelectInto:        "SELECT INTO",
	kindSelectIntoOutfile: "SELECT INTO OUTFILE",
	kindSelectForUpdate:   "SELECT FOR UPDATE",
	kindSelectForShare:    "SELECT FOR SHARE",
	kindFunction:          "FUNCTION",
	kindPragmaSet:         "PRAGMA SET",
	kindInsert:            "INSERT",
	kindUpsert:            "UPSERT",
	kindUpdate:            "UPDATE",
	kindDelete:            "DELETE",
	kindMerge:             "MERGE",
	kindReplace:           "REPLACE",
	kindCopy:              "COPY",
	kindLoad:              "LOAD",
	kindLoadData:          "LOAD DATA",
	kindBulkInsert:        "BULK INSERT",
	kindImport:            "IMPORT",
	kindExport:            "EXPORT",
	kindHandler:           "HANDLER",
	kindCreate:            "CREATE",
	kindAlter:             "ALTER",
	kindDrop:              "DROP",
	kindTruncate:          "TRUNCATE",
	kindRename:            "RENAME",
	kindComment:           "COMMENT",
	kindRefresh:           "REFRESH",
	kindReindex:           "REINDEX",
	kindCluster:           "CLUSTER",
	kindVacuum:            "VACUUM",
	kindVacuumInto:        "VACUUM INTO",
	kindAnalyze:           "ANALYZE",
	kindOptimize:          "OPTIMIZE",
	kindRepair:            "REPAIR",
	kindCheck:             "CHECK",
	kindChecksum:          "CHECKSUM",
	kindAttach:            "ATTACH",
	kindDetach:            "DETACH",
	kindGrant:             "GRANT",
	kindRevoke:            "REVOKE",
	kindDeny:              "DENY",
	kindReassign:          "REASSIGN",
	kindSecurity:          "SECURITY LABEL",
	kindBegin:             "BEGIN",
	kindCommit:            "COMMIT",
	kindRollback:          "ROLLBACK",
	kindSavepoint:         "SAVEPOINT",
	kindRelease:           "RELEASE",
	kindLock:              "LOCK",
	kindUnlock:            "UNLOCK",
	kindXA:                "XA",
	kindCall:              "CALL",
	kindDo:                "DO",
	kindPrepare:           "PREPARE",
	kindExecute:           "EXECUTE",
	kindDeallocate:        "DEALLOCATE",
	kindDeclare:           "DECLARE",
	kindOpen:              "OPEN",
	kindFetch:             "FETCH",
	kindMove:              "MOVE",
	kindClose:             "CLOSE",
	kindListen:            "LISTEN",
	kindUnlisten:          "UNLISTEN",
	kindNotify:            "NOTIFY",
	kindDiscard:           "DISCARD",
	kindSet:               "SET",
	kindReset:             "RESET",
	kindUse:               "USE",
	kindCheckpoint:        "CHECKPOINT",
	kindKill:              "KILL",
	kindShutdown:          "SHUTDOWN",
	kindRestart:           "RESTART",
	kindFlush:             "FLUSH",
	kindPurge:             "PURGE",
	kindInstall:           "INSTALL",
	kindUninstall:         "UNINSTALL",
	kindChange:            "CHANGE",
	kindStart:             "START",
	kindStop:              "STOP",
	kindClone:             "CLONE",
	kindBinlog:            "BINLOG",
	kindBackup:            "BACKUP",
	kindRestore:           "RESTORE",
	kindDbcc:              "DBCC",
	kindReconfigure:       "RECONFIGURE",
	kindRevert:            "REVERT",
	kindIf:                "IF",
	kindWhile:             "WHILE",
	kindReturn:            "RETURN",
	kindGoto:              "GOTO",
	kindPrint:             "PRINT",
	kindRaiserror:         "RAISERROR",
	kindWaitfor:           "WAITFOR",
	kindSignal:            "SIGNAL",
}

// Kinds returns every kind that [Read] can report, the read-only ones first
// after [Unknown].
func Kinds() []string { return slices.Clone(kindNames[kindUnknown:]) }

// ReadOnly says whether statements of a kind only read. Case does not matter;
// what is no kind is not read-only.
func ReadOnly(name string) bool {
	for k := kindUnknown + 1; k <= lastReading; k++ {
		if strings.EqualFold(kindNames[k], name) {
			return true
		}
	}
	return false
}

// kindList is a set of kinds in order of appearance. The zero list is empty.
type kindList struct {
	has   [(kinds + 63) / 64]uint64
	order [kinds]kind
	n     int
}

func (s *kindList) add(k kind) {
	if k == kindNone || s.has[k/64]&(1<<(k%64)) != 0 {
		return
	}
	s.has[k/64] |= 1 << (k % 64)
	s.order[s.n] = k
	s.n++
}

func (s *kindList) addAll(o *kindList) {
	for _, k := range o.order[:o.n] {
		s.add(k)
	}
}

func (s *kindList) names() []string {
	names := make([]string, s.n)
	for i, k := range s.order[:s.n] {
		names[i] = kindNames[k]
	}
	return names
}
