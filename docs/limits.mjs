// The bounds that the code names, for docs/explain/limits.md: [what, file, constant, unit, what happens at the limit].
// docs/generate.mjs reads the values from the files, so that they cannot go stale.
const core = 'packages/core/src'
const vac = 'packages/vac/src'
const documents = 'packages/documents/src'
const tasks = 'packages/tasks/src'
const a2a = 'packages/a2a/src'
const gateway = 'packages/mcp-gateway/src'
const mcpServer = 'packages/mcp-server/src'

export const limits = {
  Answers: [
    ['Answers in progress at once, over all VACs; fewer where the heap is small', `${core}/vacs.ts`, 'MAX_ANSWERS', '', '503 `VAC_BUSY` with `Retry-After`; 503 `OWNER_SHARE_USED` for an owner that has a quarter of them. Set it with `maxConcurrent`.'],
    ['Total time for an interpreter', `${vac}/options.ts`, 'timeoutMs', 'ms', 'The interpreter is aborted: 504 `VAC_TIMEOUT`.'],
    ['Text kept for an answer that is not streamed, of an interpreter that ends without an answer object', `${core}/run-interpreter.ts`, 'maxAnswerChars', 'characters', 'The call fails at its end with `VAC_INVALID_RESULT`.'],
    ['The same while streaming', `${core}/run-interpreter.ts`, 'maxStreamedChars', 'characters', 'All text is streamed; `answer` of the result object is its beginning, and `metadata.truncated` is true. Set it with `limits` of `createVacs`.'],
    ['Unread text pushed through the callback without `await`', `${core}/run-interpreter.ts`, 'maxUnreadChars', 'characters', 'The call fails with `VAC_BUFFER_FULL`.'],
    ['Unread text from which an awaited push waits', `${core}/pushed-text.ts`, 'HIGH_WATER_CHARS', 'characters', 'The push waits for the reader.'],
    ['Time that ready-made chunks keep the event loop', `${core}/run-interpreter.ts`, 'MAX_BURST_MS', 'ms', 'Other work goes first, then the answer goes on.']
  ],
  Requests: [
    ['Size of a request body', `${vac}/options.ts`, 'bodyLimit', 'bytes', '413 `BODY_TOO_LARGE`. Set it with `bodyLimit`.'],
    ['Rest of a refused body that is read before the connection closes', `${core}/lingering-close.ts`, 'MAX_REST_BYTES', 'bytes', 'The connection is closed.'],
    ['Time for the same', `${core}/lingering-close.ts`, 'MAX_REST_MS', 'ms', 'The connection is closed.'],
    ['Nesting of a request body', `${core}/json-body.ts`, 'MAX_BODY_DEPTH', 'levels', '400 `BODY_TOO_DEEP`.'],
    ['Turns in `chat_history` and in `messages`', `${core}/schemas.ts`, 'maxItems', 'turns', '400 `BAD_REQUEST`.'],
    ['Length of one part of a path', 'apps/host/src/create-host.ts', 'MAX_PARAM_LENGTH', 'characters', 'The host answers 404 `NOT_FOUND`.'],
    ['Values in a body of JSON', `${core}/request-memory.ts`, 'MAX_BODY_VALUES', '', '413 `BODY_TOO_MANY_VALUES`.'],
    ['Problems reported for one request', `${core}/validation.ts`, 'MAX_PROBLEMS', '', 'The others are left out.']
  ],
  'Memory of the process': [
    ['Part of the heap limit for the budget: request bodies, responses that wait for their reader, sessions, parked calls', `${core}/memory-budget.ts`, 'HEAP_PART', '', '503 `MEMORY_BUDGET_EXCEEDED` with `Retry-After`, a log line, and a reason at `/ready`. Set it with `memory_budget` of the host, in MiB.'],
    ['Part of the budget, and of other shared places, for one owner', `${core}/owner-slots.ts`, 'OWNER_SHARE', '', '503 `MEMORY_BUDGET_EXCEEDED` or `OWNER_SHARE_USED`. Callers without an owner share the whole.'],
    ['Size up to which a body is not counted', `${core}/request-memory.ts`, 'SMALL_BODY_BYTES', 'bytes', 'It is counted while its request lasts.'],
    ['Log lines of one kind', `${core}/log-gate.ts`, 'INTERVAL_MS', 'ms', 'The next line has their number, as `suppressed`.']
  ],
  'Connections of the host': [
    ['Connections at once; fewer where the heap or the file descriptors are few', 'apps/host/src/connections.ts', 'MAX_CONNECTIONS', '', 'New ones are closed, with a log line. Set it with `connections.max`.'],
    ['Time for the first byte of a connection', 'apps/host/src/connections.ts', 'FIRST_BYTE_TIMEOUT', 's', 'The connection is closed. Set it with `connections.first_byte_timeout`.'],
    ['Time for the headers of a request', 'apps/host/src/connections.ts', 'HEADERS_TIMEOUT', 's', '408. Set it with `connections.headers_timeout`.'],
    ['Time to receive a whole request', 'apps/host/src/connections.ts', 'BODY_TIMEOUT', 's', '408. Set it with `connections.body_timeout`.'],
    ['Time for the next request of a connection', 'apps/host/src/connections.ts', 'IDLE_TIMEOUT', 's', 'The connection is closed. Set it with `connections.idle_timeout`.'],
    ['Time that a reader may take nothing of a response', 'apps/host/src/connections.ts', 'STALL_TIMEOUT', 's', 'The connection is closed. Set it with `connections.stall_timeout`.']
  ],
  'JSON schemas of tools': [
    ['Steps of the check of one value', `${core}/json-schema/check.ts`, 'MAX_STEPS', 'steps', 'The value goes unchecked to the MCP server that has the tool. A tool of `defineTools` refuses it: `MCP_INVALID_ARGUMENTS`. A schema that needs as many for a small value is named in the log once it is listed.'],
    ['Subschemas that apply one within another', `${core}/json-schema/check.ts`, 'MAX_CHECK_DEPTH', '', 'The same.'],
    ['Subschemas of one schema that are prepared', `${core}/json-schema/document.ts`, 'MAX_NODES', '', 'The same.'],
    ['Work to compile a pattern', `${core}/json-schema/pattern.ts`, 'MAX_PATTERN_SIZE', 'characters, with repeats as copies', 'The pattern is not checked.'],
    ['Text whose `format` is checked', `${core}/json-schema/assertions.ts`, 'MAX_FORMAT_CHARS', 'characters', 'The format is not checked.'],
    ['Problems reported about one value', `${core}/json-schema/check.ts`, 'MAX_PROBLEMS', '', 'The others are left out.']
  ],
  Streams: [
    ['Longest pause without a byte', `${vac}/options.ts`, 'STREAM_WAIT_TIME', 's', 'An event stream gets a comment, `: keep-alive`. Set it with `stream_wait_time`.'],
    ['Time that a reader may take nothing', `${vac}/options.ts`, 'stallMs', 'ms', 'It is disconnected, and its interpreter is aborted. Set it with `stallMs`.'],
    ['Text that is ready at once and written together', `${core}/send-stream.ts`, 'BATCH_CHARS', 'characters', 'It is written, and the rest follows.'],
    ['Time for the last event when the application closes', `${core}/open-streams.ts`, 'CLOSE_GRACE_MS', 'ms', 'The socket is destroyed.'],
    ['Time for answers in progress after SIGTERM', 'apps/host/src/arguments.ts', 'graceSeconds', 's', 'They are aborted. Set it with `--grace`.']
  ],
  'Worker threads': [
    ['Calls waiting for a thread', `${core}/worker-interpreter.ts`, 'maxQueue', 'calls', '503 `VAC_BUSY`.'],
    ['Unread text from which a thread waits', `${core}/interpreter-worker.ts`, 'UNREAD_HIGH_WATER_CHARS', 'characters', 'The thread sleeps until the reader has taken some.'],
    ['Life of an idle thread', `${core}/worker-interpreter.ts`, 'idleTimeout', 'ms', 'It ends; one always stays.']
  ],
  Documents: [
    ['Length of a file', `${documents}/folder-options.ts`, 'maxFileBytes', 'bytes', 'The file is left out, with a log line.'],
    ['Files in a folder', `${documents}/folder-options.ts`, 'maxFiles', 'files', 'The others are left out, with a log line.'],
    ['Depth of folders', `${documents}/files.ts`, 'MAX_DEPTH', 'levels', 'Deeper ones are left out.'],
    ['Passages an answer is made from', `${documents}/folder-options.ts`, 'k', '', 'The best ones are taken. Set it per memory, up to 100.'],
    ['Results of a search', `${core}/memory.ts`, 'maxLimit', '', '`DOCUMENTS_INVALID_SEARCH`.'],
    ['Length of a query', `${core}/memory.ts`, 'maxQueryLength', 'characters', 'The rest is not searched for.'],
    ['Passages shown to a model, together', `${documents}/model-answer.ts`, 'MAX_PASSAGES', 'characters', 'The last ones are cut.'],
    ['Earlier turns shown to a model', `${documents}/model-answer.ts`, 'MAX_TURNS', 'turns', 'Older ones are left out.']
  ],
  Tasks: [
    ['Tasks kept', `${tasks}/sqlite/options.ts`, 'maxTasks', 'tasks', 'The oldest ended ones are deleted; where none has ended, `TASK_TOO_MANY`. Set it with `max_tasks`.'],
    ['Time that an ended task is kept', `${tasks}/sqlite/options.ts`, 'ttlMs', 'ms', 'It is deleted, with its log. Set it with `ttl`.'],
    ['JSON in the log of one task', `${tasks}/sqlite/options.ts`, 'maxTaskChars', 'characters', 'The task fails with `TASK_TOO_LARGE`.'],
    ['Text that deltas add to one message of a record', `${tasks}/fold-task.ts`, 'MAX_PARTIAL_CHARS', 'characters', 'The record keeps the beginning; the log and its deltas keep everything.'],
    ['Text of a streamed answer that waits to be written', `${tasks}/delta-writer.ts`, 'MAX_CHARS', 'characters', 'It is written, in one event.'],
    ['Text of one delta of a streamed answer', `${tasks}/delta-writer.ts`, 'MAX_DELTA_CHARS', 'characters', 'A longer chunk is split.'],
    ['JSON of one event, and of an input', `${tasks}/task-updates.ts`, 'MAX_EVENT_CHARS', 'characters', '`TASK_TOO_LARGE`.'],
    ['Updates in one `emit`', `${tasks}/task-updates.ts`, 'MAX_UPDATES', 'updates', '`TASK_INVALID`.'],
    ['Length of an id, an owner, a skill or an idempotency key', `${tasks}/sqlite/new-task.ts`, 'MAX_NAME', 'characters', '`TASK_INVALID`.'],
    ['Tasks that a worker executes at once', `${tasks}/sqlite/options.ts`, 'TASKS_AT_ONCE', 'tasks', 'The others wait as `submitted`. Set it with `concurrency` of `work`.'],
    ['Time for one attempt', `${tasks}/sqlite/options.ts`, 'ATTEMPT_MS', 'ms', 'Its signal aborts, and the task fails with `TASK_TIMEOUT`. Set it with `timeoutMs` of `work`.'],
    ['Lease of a task whose process sends no heartbeat', `${tasks}/sqlite/options.ts`, 'leaseMs', 'ms', 'Another process takes it over.'],
    ['Executors that a task may lose beyond the first', `${tasks}/sqlite/options.ts`, 'retries', '', 'The task fails with `TASK_EXECUTOR_LOST`.'],
    ['Events that a reader holds', `${tasks}/sqlite/task-log.ts`, 'PAGE', 'events', 'The rest stays in the store until the reader goes on.'],
    ['Characters of events that a reader reads at a time, about', `${tasks}/sqlite/task-log.ts`, 'PAGE_CHARS', 'characters', 'It reads fewer events at a time.'],
    ['Writes that wait', `${tasks}/sqlite/group-commit.ts`, 'MAX_WAITING', 'writes', '503 `TASK_STORE_UNAVAILABLE`.'],
    ['Time that another process may hold the lock of the file', `${tasks}/sqlite/group-commit.ts`, 'BUSY_MS', 'ms', '503 `TASK_STORE_UNAVAILABLE`.'],
    ['Tasks in one page of a list', `${tasks}/sqlite/task-pages.ts`, 'MAX_LIMIT', 'tasks', '`TASK_INVALID`.'],
    ['JSON behind one page of a list', `${tasks}/sqlite/store.ts`, 'LIST_CHARS', 'characters', 'The page ends early, with a cursor.'],
    ['Push configs of a task', `${tasks}/sqlite/push-configs.ts`, 'MAX_CONFIGS', '', '`TASK_TOO_MANY_PUSH_CONFIGS`.'],
    ['Settings, and secrets, of a push config', `${tasks}/sqlite/push-configs.ts`, 'MAX_CHARS', 'characters', '`TASK_TOO_LARGE`.'],
    ['Time that a failing push config is tried again', `${tasks}/sqlite/options.ts`, 'deadAfterMs', 'ms', 'Nothing more is delivered to it.'],
    ['Time for one delivery', `${tasks}/sqlite/options.ts`, 'DELIVERY_MS', 'ms', 'Its signal aborts, and it is tried again.']
  ],
  A2A: [
    ['Time that `tasks/send` waits for the end', `${a2a}/options.ts`, 'sendTimeoutMs', 'ms', 'It answers with the task in its current state. Set it with `sendTimeoutMs`.'],
    ['Total time for an interpreter', `${a2a}/options.ts`, 'timeoutMs', 'ms', 'The task fails with `VAC_TIMEOUT`. Set it with `timeoutMs`, or for one task with `stream_settings.timeout`.'],
    ['Time for one attempt at a task, whatever its input', `${a2a}/plugin.ts`, 'MAX_RUN_MS', 'ms', 'The task fails with `TASK_TIMEOUT`.'],
    ['Tasks that a process executes at once', `${a2a}/options.ts`, 'concurrency', 'tasks', 'The others wait as `submitted`. Set it with `concurrency`.'],
    ['Streams that one owner holds open', `${a2a}/options.ts`, 'maxStreams', 'streams', '429 `A2A_TOO_MANY_STREAMS`. Set it with `maxStreams`.'],
    ['Characters that the frames of all streams have together', `${a2a}/tasks/task-streams.ts`, 'MAX_HELD_CHARS', 'characters', 'The reader that has read nothing for longest is disconnected, and may resubscribe.'],
    ['Time that all readers together keep the event loop', `${a2a}/tasks/task-service.ts`, 'MAX_TURN_MS', 'ms', 'Other work goes first, then they go on.'],
    ['Time that a reader of a stream may take nothing', `${a2a}/options.ts`, 'stallMs', 'ms', 'It is disconnected, and may resubscribe; the task goes on. Set it with `stallMs`.'],
    ['Longest pause of a stream without a byte', `${a2a}/options.ts`, 'STREAM_WAIT_TIME', 's', 'It gets a comment. Set it for one task with `stream_settings.wait_time`.'],
    ['Size of a request body', `${a2a}/options.ts`, 'bodyLimit', 'bytes', '413 `BODY_TOO_LARGE`. Set it with `bodyLimit`.'],
    ['Earlier tasks of a conversation that become chat history', `${a2a}/tasks/conversation.ts`, 'MAX_EARLIER_TASKS', 'tasks', 'Older ones are left out.'],
    ['Characters of them', `${a2a}/tasks/conversation.ts`, 'MAX_EARLIER_CHARS', 'characters', 'Older tasks are left out.'],
    ['Artifacts of one answer', `${a2a}/tasks/artifacts.ts`, 'MAX_ARTIFACTS', 'artifacts', 'The task fails with `VAC_INVALID_RESULT`.'],
    ['Extensions that one request may name', `${a2a}/protocol/request-headers.ts`, 'MAX_EXTENSIONS', 'extensions', '`A2A_INVALID_PARAMS`.'],
    ['Agent cards that are kept ready', `${a2a}/cards/cards.ts`, 'MAX_RENDERED_CARDS', 'cards', 'All are dropped, and each is made again when it is requested.'],
    ['Size of a message over gRPC', `${a2a}/options.ts`, 'bodyLimit', 'bytes', '`RESOURCE_EXHAUSTED`. Set it with `maxMessageBytes` of `a2aGrpc`.'],
    ['Calls of one connection at once over gRPC', `${a2a}/grpc/index.ts`, 'MAX_CALLS', '', 'They wait at the client. Set it with `maxCalls` of `a2aGrpc`.'],
    ['Details beside an error over gRPC', `${a2a}/grpc/index.ts`, 'MAX_DETAIL_BYTES', 'bytes', 'The error has its reason, and leaves out the fields.'],
    ['Characters of an error message over gRPC', `${a2a}/grpc/index.ts`, 'MAX_MESSAGE_CHARS', 'characters', 'The rest is left out.'],
    ['Time for the end of calls over gRPC at a close', `${a2a}/grpc/index.ts`, 'CLOSE_GRACE_MS', 'ms', 'They are cut off.']
  ],
  Webhooks: [
    ['Deliveries that a process makes at once', `${a2a}/plugin.ts`, 'MAX_DELIVERIES', 'deliveries', 'The others wait in the store.'],
    ['Time for one delivery, with lookup and answer', `${a2a}/push/deliver.ts`, 'PUSH_TIMEOUT_MS', 'ms', 'It is tried again. Set it with `push.timeoutMs`.'],
    ['Length of a URL', `${a2a}/push/address-guard.ts`, 'MAX_URL_LENGTH', 'characters', '`PUSH_URL_REFUSED`.'],
    ['Time to look up the host of a URL when it is set', `${a2a}/push/address-guard.ts`, 'LOOKUP_TIMEOUT_MS', 'ms', 'It is accepted; every delivery resolves it again.'],
    ['Connections to one receiver', `${a2a}/push/guarded-agent.ts`, 'MAX_CONNECTIONS', 'connections', 'Further deliveries wait for one of them.'],
    ['Time that a connection is kept for the next delivery', `${a2a}/push/guarded-agent.ts`, 'IDLE_TIMEOUT_MS', 'ms', 'It is closed.'],
    ['Time to connect to an address', `${a2a}/push/guarded-agent.ts`, 'CONNECT_TIMEOUT_MS', 'ms', 'The next address of the host is tried.'],
    ['Addresses of a host that are tried', `${a2a}/push/guarded-agent.ts`, 'MAX_ADDRESSES', 'addresses', 'The delivery is tried again later.'],
    ['Bytes read of a receiver\'s answer', `${a2a}/push/deliver.ts`, 'MAX_ANSWER_BYTES', 'bytes', 'The connection is closed; the status is used.'],
    ['Length of `token`', `${a2a}/push/push-secrets.ts`, 'MAX_TOKEN_LENGTH', 'characters', '`PUSH_SECRETS_INVALID`.'],
    ['Length of `credentials`', `${a2a}/push/push-secrets.ts`, 'MAX_CREDENTIALS_LENGTH', 'characters', '`PUSH_SECRETS_INVALID`.'],
    ['Longest pause that `Retry-After` sets', `${a2a}/push/delivery-outcome.ts`, 'MAX_RETRY_AFTER_MS', 'ms', 'It is tried again then.'],
    ['Time that a signature is valid', `${a2a}/push/signing-keys.ts`, 'MAX_SIGNATURE_SECONDS', 's', '`NOTIFICATION_EXPIRED`, from `verifyNotification`.']
  ],
  Upstreams: [
    ['Time of a call without a message', `${gateway}/options.ts`, 'callTimeoutMs', 'ms', 'The call is cancelled: 500 `MCP_CALL_TIMEOUT`. Progress restarts it. Set it with `timeout` of the server.'],
    ['Time of a call, progress or not', `${gateway}/options.ts`, 'maxCallMs', 'ms', 'The same. Set it with `maxCallMs`.'],
    ['Time for a server to start', `${gateway}/options.ts`, 'startTimeoutMs', 'ms', 'It is ended and tried again. Set it with `startTimeoutMs`.'],
    ['Time for a server over HTTP to answer in 2026-07-28', `${gateway}/connections/http/http-connection.ts`, 'PROBE_MS', 'ms', 'It is treated as one of an earlier revision.'],
    ['Time that a request waits for a server that starts', `${gateway}/options.ts`, 'readyWaitMs', 'ms', '500 `MCP_SERVER_NOT_READY`; a list of all servers leaves it out. Set it with `readyWaitMs`.'],
    ['Time that a list of all servers waits for one of them', `${gateway}/options.ts`, 'listWaitMs', 'ms', 'It is left out of the list. Set it with `listWaitMs`.'],
    ['Length of a message of a server', `${gateway}/options.ts`, 'maxMessageBytes', 'bytes', 'It is dropped, and only its call fails: 500 `MCP_MESSAGE_TOO_LARGE`. Set it with `maxMessageBytes`.'],
    ['Bytes that wait for a server that does not read', `${gateway}/connections/stdio/stdio-transport.ts`, 'MAX_WAITING_BYTES', 'bytes', 'Further calls fail with `MCP_CALL_FAILED`.'],
    ['Calls of one server in flight', `${gateway}/options.ts`, 'maxInFlight', 'calls', '503 `MCP_SERVER_BUSY` with `Retry-After`. Set it with `maxInFlight`.'],
    ['Length of OAuth metadata, or of a token response', `${gateway}/connections/http/token-requests.ts`, 'MAX_BYTES', 'bytes', 'The start of the server fails, and is tried again.'],
    ['Time for one of these requests', `${gateway}/connections/http/token-requests.ts`, 'MAX_MS', 'ms', 'The same.'],
    ['Lines of stderr that are kept', `${gateway}/options.ts`, 'stderrLines', 'lines', 'Older ones are dropped. Set it with `stderrLines`.'],
    ['Length of such a line', `${gateway}/connections/stdio/stderr-ring.ts`, 'LINE_CHARS', 'characters', 'The rest is left out.'],
    ['Pause before a restart', `${gateway}/options.ts`, 'restartDelayMaxMs', 'ms', 'It grows no further. Set it with `restartDelayMaxMs`.'],
    ['Entries of one list', `${gateway}/protocol/lists.ts`, 'MAX_ITEMS', 'entries', 'The others are left out.'],
    ['Pages of one list', `${gateway}/protocol/lists.ts`, 'MAX_PAGES', 'pages', 'The others are left out.'],
    ['Age of a list whose server does not notify changes', `${gateway}/options.ts`, 'listTtlMs', 'ms', 'It is read again. Set it with `listTtlMs`.'],
    ['Questions of tools that are open', `${gateway}/options.ts`, 'maxQuestions', '', 'The next one is declined. Set it with `maxQuestions`.'],
    ['Time that a question stays open', `${gateway}/options.ts`, 'questionTtlMs', 'ms', 'It is declined, and the call goes on. Set it with `questionTtlMs`.'],
    ['Questions of a tool at once, from 2026-07-28 on', `${gateway}/protocol/check-result.ts`, 'MAX_AT_ONCE', '', 'The call fails with `MCP_CALL_FAILED`.'],
    ['Length of the state that goes with them', `${gateway}/protocol/check-result.ts`, 'MAX_STATE_CHARS', 'characters', 'The call fails with `MCP_CALL_FAILED`.'],
    ['Length of the id of a task of a server', `${gateway}/protocol/check-result.ts`, 'MAX_TASK_ID_CHARS', 'characters', 'The call fails with `MCP_CALL_FAILED`.'],
    ['Failures in a row to resume a stream of a server over HTTP', `${gateway}/connections/http/streamable-transport.ts`, 'MAX_RESUMES', '', 'Its call fails with `MCP_CALL_FAILED`.'],
    ['Pause between two polls of a followed task', `${gateway}/tool-source/tasks.ts`, 'MAX_POLL_MS', 'ms', 'It is polled then, whatever interval its server names.'],
    ['Questions of one call, one after the other', `${gateway}/session/session.ts`, 'MAX_ROUNDS', '', 'The call fails with `MCP_CALL_FAILED`.'],
    ['Text of progress that waits for a slow reader', `${core}/sse-body.ts`, 'MAX_UNREAD_CHARS', 'characters', 'Further progress is left out; the result never is.']
  ],
  'MCP server': [
    ['Size of a request body', `${mcpServer}/options.ts`, 'bodyLimit', 'bytes', '413. Set it with `bodyLimit`.'],
    ['Nesting of a request body', `${core}/json-body.ts`, 'MAX_BODY_DEPTH', 'levels', '400, -32600.'],
    ['Sessions at once', `${mcpServer}/options.ts`, 'maxSessions', '', 'The caller\'s own one that is unused longest ends; if none is idle, 503. The same where an owner has a quarter of them. Set this and the next ones with `limits`.'],
    ['Time without a request or an open stream', `${mcpServer}/options.ts`, 'sessionTtlMs', 'ms', 'The session ends: 404, and the client starts another one.'],
    ['Streams without a call at once', `${mcpServer}/options.ts`, 'maxStreams', '', '503 with `Retry-After`, also for an owner with a quarter of them.'],
    ['Calls in progress of one session', `${mcpServer}/options.ts`, 'maxSessionCalls', 'calls', '503 with `Retry-After`.'],
    ['Length of an id and of a progress token', `${mcpServer}/protocol/rpc.ts`, 'MAX_ID_CHARS', 'characters', '-32600, and -32602.'],
    ['Length of a URI, a cursor and the id of a task', `${mcpServer}/protocol/rpc.ts`, 'MAX_NAME_CHARS', 'characters', '-32602.'],
    ['Extensions of a client that are kept', 'packages/mcp-protocol/src/server-requests.ts', 'MAX_EXTENSIONS', '', 'The others are ignored.'],
    ['Name and settings of one', 'packages/mcp-protocol/src/server-requests.ts', 'MAX_EXTENSION_CHARS', 'characters of JSON', 'It is ignored.'],
    ['Messages of one batch', `${mcpServer}/options.ts`, 'maxBatch', 'messages', '400, -32600.'],
    ['Events kept of one stream of a session', `${mcpServer}/options.ts`, 'maxStreamEvents', 'events', 'The oldest is dropped; a client that resumes from it gets 400.'],
    ['Events kept of all streams', `${mcpServer}/options.ts`, 'maxEvents', 'events', 'The oldest of all is dropped.'],
    ['Text of all kept events', `${mcpServer}/options.ts`, 'maxEventChars', 'characters', 'The oldest of all is dropped.'],
    ['Streams of a session that have ended and are kept', `${mcpServer}/sessions/session.ts`, 'MAX_ENDED_STREAMS', 'streams', 'The oldest is dropped.'],
    ['Questions of one call at once, and open ones of a session', `${mcpServer}/options.ts`, 'maxQuestions', '', '`MCP_CANNOT_ASK`.'],
    ['Time that a client of a session has to answer', `${mcpServer}/options.ts`, 'questionTtlMs', 'ms', '`MCP_ASK_TIMEOUT`.'],
    ['Resources, or tasks, of one subscription', `${mcpServer}/options.ts`, 'maxSubscriptions', '', '-32602.'],
    ['Time that a `requestState` is valid', `${mcpServer}/options.ts`, 'stateTtlMs', 'ms', '-32602; the client calls again.'],
    ['Length of a `requestState`', `${mcpServer}/options.ts`, 'maxStateChars', 'characters', '-32602.'],
    ['Entries of one page of a list', `${mcpServer}/options.ts`, 'pageSize', 'entries', 'The rest is on the next page.'],
    ['Age of a list that a client keeps', `${mcpServer}/options.ts`, 'listTtlMs', 'ms', 'It is requested again.'],
    ['Tasks executed at once', `${mcpServer}/options.ts`, 'taskConcurrency', 'tasks', 'The others wait in the store. One owner has at most a quarter.'],
    ['Time that a task waits for an answer', `${mcpServer}/options.ts`, 'taskInputMs', 'ms', 'The task fails with `TASK_INPUT_TIMEOUT`.'],
    ['Time for one run of a task', `${mcpServer}/options.ts`, 'taskTimeoutMs', 'ms', 'The task fails.'],
    ['Unread messages of a stream', `${core}/sse-body.ts`, 'MAX_UNREAD_CHARS', 'characters', 'Further progress and log messages are left out; the result never is. A stream of changes ends, and its client reconnects.'],
    ['Time that a reader may take nothing', `${core}/send-stream.ts`, 'MAX_STALL_MS', 'ms', 'It is disconnected.'],
    ['Longest pause of a stream without a byte', `${core}/sse-body.ts`, 'KEEP_ALIVE_MS', 'ms', 'A comment is sent.'],
    ['Time for calls to end when the application closes', `${mcpServer}/context.ts`, 'CLOSE_GRACE_MS', 'ms', 'They get an error that names the shutdown.']
  ],
  Configuration: [
    ['Length of the configuration file', `${core}/vac-config.ts`, 'MAX_CONFIG_BYTES', 'bytes', '`CONFIG_INVALID`.']
  ],
  'MCP server: VACs as tools': [
    ['Time for an interpreter', `${mcpServer}/sources/vac-tools.ts`, 'timeoutMs', 'ms', 'A result with `isError`: `VAC_TIMEOUT`. Set it with `stream_settings.timeout` of a stream, or `timeoutMs` of `vacTools`.'],
    ['Times that an interpreter may ask back in one call', `${mcpServer}/sources/vac-call.ts`, 'MAX_REPLIES', '', 'Its question is the result.'],
    ['The exchange in the state of a caller that has not answered', `${mcpServer}/sources/vac-dialogue.ts`, 'MAX_DIALOGUE_CHARS', 'characters', 'The question is the result; the caller may call again.'],
    ['Values of one completion', `${mcpServer}/sources/vac-resources.ts`, 'MAX_VALUES', '', '`hasMore` is true.'],
    ['Length of a tool\'s name', `${core}/tool-name.ts`, 'MAX_TOOL_NAME', 'characters', 'It is shortened, and gets a hash that distinguishes it.'],
    ['A line on standard input', `${mcpServer}/stdio/serve-stdio.ts`, 'MAX_LINE_BYTES', 'bytes', 'An error with the id of the message; the next one is served.'],
    ['Time for what is in progress when standard input ends', `${mcpServer}/stdio/serve-stdio.ts`, 'DRAIN_MS', 'ms', 'It is cancelled.']
  ]
}
