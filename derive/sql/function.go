package sql

import "strings"

// reaching are the functions that do more than compute from the rows of a
// query: they touch files, programs, extensions, settings, sequences, other
// sessions or servers, run SQL from a string, or hold locks and time. They are
// not read-only. In lower case; see [reachingPrefixes] for families.
//
// Sources: PostgreSQL manual 9.17, 9.27, 9.28 and appendix F; MySQL manual
// 14.14, 14.18, 14.23; SQLite's shell and ext/misc; T-SQL rowset functions;
// Oracle's supplied packages; DuckDB's readers.
var reaching = wordSet(strings.Join([]string{
	// PostgreSQL: files, programs, servers
	`loread lowrite pg_stat_file pg_current_logfile
		postgres_fdw_disconnect postgres_fdw_disconnect_all http http_get http_post http_put http_patch http_delete
		http_head http_set_curlopt http_collect_response`,
	// PostgreSQL: settings, sequences, sessions, locks, time
	`set_config nextval setval pg_sleep pg_sleep_for pg_sleep_until pg_terminate_backend pg_cancel_backend
		pg_reload_conf pg_rotate_logfile pg_rotate_logfile_v2 pg_promote pg_notify pg_switch_wal pg_switch_xlog
		pg_start_backup pg_stop_backup pg_export_snapshot pg_import_system_collations pg_prewarm pg_log_backend_memory_contexts
		pg_extension_config_dump pg_logical_emit_message pg_nextoid pg_stop_making_pinned_objects pg_set_relation_stats
		pg_restore_relation_stats pg_restore_attribute_stats pg_clear_relation_stats pg_clear_attribute_stats
		pg_truncate_visibility_map gin_clean_pending_list setseed`,
	// PostgreSQL: SQL from a string
	`query_to_xml query_to_xmlschema query_to_xml_and_xmlschema cursor_to_xml cursor_to_xmlschema ts_stat ts_rewrite
		crosstab crosstab2 crosstab3 crosstab4 crosstabn connectby xpath_table`,
	// MySQL, MariaDB
	`load_file sleep benchmark get_lock release_lock release_all_locks master_pos_wait source_pos_wait
		master_gtid_wait wait_for_executed_gtid_set wait_until_sql_thread_after_gtids sys_exec sys_eval sys_get sys_set
		sys_bineval service_get_read_locks service_get_write_locks service_release_locks mysql_query_attribute_set
		set_firewall_mode set_firewall_group_mode read_firewall_users read_firewall_groups
		asynchronous_connection_failover_add_source asynchronous_connection_failover_delete_source
		asynchronous_connection_failover_add_managed asynchronous_connection_failover_delete_managed
		asynchronous_connection_failover_reset`,
	// SQLite: its shell and extensions
	`load_extension readfile writefile edit fts3_tokenizer eval fsdir lsdir zipfile optimize sha1_query sha3_query`,
	// SQL Server
	`openrowset openquery opendatasource fn_trace_gettable fn_get_audit_file fn_xe_file_target_read_file
		fn_dump_dblog fn_dblog fn_full_dblog`,
	// Oracle
	`httpuritype bfilename dburitype xdburitype`,
	// DuckDB
	`read_csv read_csv_auto read_json read_json_auto read_json_objects read_json_objects_auto read_ndjson
		read_ndjson_auto read_ndjson_objects read_parquet parquet_scan parquet_metadata parquet_schema read_text
		read_blob read_xlsx sniff_csv sqlite_scan sqlite_attach postgres_scan postgres_attach postgres_query postgres_execute
		mysql_scan mysql_query mysql_execute iceberg_scan delta_scan getenv`,
}, " "))

// reachingPrefixes begin the names of families of such functions.
var reachingPrefixes = [...]string{
	"audit_log_", "binary_upgrade_", "brin_desummarize_", "brin_summarize_", "dblink", "dbms_", "group_replication_",
	"keyring_", "lo_", "pg_advisory_", "pg_backup_", "pg_buffercache_evict", "pg_create_", "pg_copy_", "pg_drop_", "pg_execute_",
	"pg_file_", "pg_logical_slot_", "pg_ls_", "pg_read_", "pg_replication_", "pg_stat_reset", "pg_stat_statements_reset",
	"pg_sync_", "pg_try_advisory_", "pg_wal_replay_", "sp_", "utl_", "version_tokens_", "xp_",
}

const longestFunction = 64 // what is longer is on no list

// reachingFunction says whether a name, in any case, is one of those.
func reachingFunction(name string) bool {
	var buf [longestFunction]byte
	if len(name) < 3 || len(name) > len(buf) {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if c-'A' < 26 {
			c |= 0x20
		}
		buf[i] = c
	}
	lower := buf[:len(name)]
	if _, listed := reaching[string(lower)]; listed {
		return true
	}
	for _, p := range reachingPrefixes {
		if lower[0] == p[0] && len(lower) >= len(p) && string(lower[:len(p)]) == p {
			return true
		}
	}
	return false
}

// reachingOwner says whether every function of that package or schema is one:
// Oracle's supplied packages, pg_cron, pg_net and the cloud extensions.
func reachingOwner(name string) bool {
	switch lower := strings.ToLower(name[:min(len(name), longestFunction)]); lower {
	case "cron", "net", "aws_s3", "aws_commons", "aws_lambda", "azure_storage":
		return true
	default:
		return strings.HasPrefix(lower, "utl_") || strings.HasPrefix(lower, "dbms_")
	}
}
