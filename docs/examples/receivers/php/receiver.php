<?php
// A receiver of doorhook's webhooks in PHP: no extension beyond those that PHP is built with.
//
//   FOLDER=received WEBHOOK_SECRET=whsec_... PHP_CLI_SERVER_WORKERS=4 php -S 127.0.0.1:9000 receiver.php
//
// WITH_PROBE=1 adds GET /probe for the conformance suite. Never set it in production.
//
// PHP may come without a database driver. Each event is a file, synced before the answer, whose name is its id. With a
// database, take a unique constraint on the webhook-id and one transaction instead, as the other examples do.
declare(strict_types=1);

const LONGEST_BODY = 1024 * 1024;

function setting(string $name, string $otherwise): string
{
    $value = getenv($name);
    return $value === false || $value === '' ? $otherwise : $value;
}

/** The file of an event. Ids are not file names: they may hold anything. */
function fileOf(string $id): string
{
    return setting('FOLDER', 'received') . '/' . hash('sha256', $id) . '.json';
}

/** Does what an event asks for unless it was done. Returns when that is on disk. */
function handleOnce(string $id, stdClass $event): void
{
    $folder = setting('FOLDER', 'received');
    if (!is_dir($folder) && !mkdir($folder, 0700) && !is_dir($folder)) {
        throw new RuntimeException("the folder $folder can not be made");
    }
    $text = json_encode(
        ['webhook_id' => $id, 'resource_type' => $event->resource_type, 'data' => $event->data],
        JSON_THROW_ON_ERROR
    );
    $draft = tempnam($folder, 'draft');
    $file = fopen($draft, 'w');
    if ($file === false || fwrite($file, $text) !== strlen($text) || !fflush($file) || !fsync($file)) {
        throw new RuntimeException('the event can not be written');
    }
    fclose($file);
    // A link is made whole or not at all, and never over another: of several at once, one is first.
    $isNew = @link($draft, fileOf($id));
    unlink($draft);
    if (!$isNew && !file_exists(fileOf($id))) {
        throw new RuntimeException('the event can not be kept');
    }
}

/** Checks a Standard Webhooks signature: HMAC-SHA-256 of id.timestamp.body, over the bytes that arrived. */
function isGenuine(string $body): bool
{
    $secret = setting('WEBHOOK_SECRET', '');
    if ($secret === '') {
        return true;
    }
    $timestamp = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    if (preg_match('/^\d{1,12}$/D', $timestamp) !== 1 || abs(time() - (int) $timestamp) > 300) {
        return false;
    }
    $key = base64_decode(preg_replace('/^whsec_/', '', $secret), true);
    if ($key === false) {
        throw new RuntimeException('WEBHOOK_SECRET is not whsec_ and base64');
    }
    $content = ($_SERVER['HTTP_WEBHOOK_ID'] ?? '') . ".$timestamp.$body";
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', $content, $key, true));
    // Several signatures come while a secret is rotated.
    foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $signature) {
        if (hash_equals($expected, $signature)) {
            return true;
        }
    }
    return false;
}

/** The event in a body; null when there is none. Members and types that are not known are fine. */
function readEvent(string $body): ?stdClass
{
    $event = json_decode($body)->event ?? null;
    $usable = $event instanceof stdClass
        && is_string($event->resource_type ?? null)
        && ($event->data ?? null) instanceof stdClass;
    return $usable ? $event : null;
}

function receive(): int
{
    if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
        return 405;
    }
    $body = file_get_contents('php://input', false, null, 0, LONGEST_BODY + 1);
    if (strlen($body) > LONGEST_BODY) {
        return 413;
    }
    if (!isGenuine($body)) {
        return 401;
    }
    $id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
    $event = readEvent($body);
    if ($id === '' || $event === null) {
        return 400;
    }
    handleOnce($id, $event);
    return 200;
}

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if ($path === '/hook') {
    try {
        http_response_code(receive());
    } catch (Throwable $error) {
        // The event is not kept, so it is not acknowledged: it will come again. Tell somebody.
        error_log("delivery failed: {$error->getMessage()}");
        http_response_code(500);
    }
} elseif ($path === '/probe' && setting('WITH_PROBE', '') === '1') {
    header('content-type: application/json');
    $id = (string) ($_GET['id'] ?? '');
    echo json_encode(['effects' => file_exists(fileOf($id)) ? 1 : 0]);
} else {
    http_response_code(404);
}
