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

/** A number as RFC 8785 wants it: as ECMAScript writes the double. */
function canonicalNumber(int|float $value): string
{
    $number = (float) $value;
    if ($number === 0.0) {
        return '0';
    }
    // PHP has the shortest digits that read back as the same double; only their placing differs.
    [$digits, $power] = [...explode('e', json_encode(abs($number))), '0'];
    [$whole, $fraction] = [...explode('.', $digits), ''];
    $fraction = $fraction === '0' ? '' : $fraction;
    $digits = ltrim("$whole$fraction", '0');
    $point = strlen($whole) + (int) $power - strlen("$whole$fraction") + strlen($digits);
    $digits = rtrim($digits, '0');
    $length = strlen($digits);
    if ($length <= $point && $point <= 21) {
        $text = str_pad($digits, $point, '0');
    } elseif (0 < $point && $point <= 21) {
        $text = substr($digits, 0, $point) . '.' . substr($digits, $point);
    } elseif (-6 < $point && $point <= 0) {
        $text = '0.' . str_repeat('0', -$point) . $digits;
    } else {
        $text = $digits[0] . ($length > 1 ? '.' . substr($digits, 1) : '');
        $text .= sprintf('e%+d', $point - 1);
    }
    return $number > 0 ? $text : "-$text";
}

/** RFC 8785: members sorted by UTF-16 code units, no space, numbers and strings as ECMAScript writes them. */
function canonical(mixed $value): string
{
    if (is_int($value) || is_float($value)) {
        return canonicalNumber($value);
    }
    if (is_array($value)) {
        return '[' . implode(',', array_map(canonical(...), $value)) . ']';
    }
    if (!$value instanceof stdClass) {
        $asItIs = JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_LINE_TERMINATORS;
        return json_encode($value, $asItIs | JSON_THROW_ON_ERROR);
    }
    $members = [];
    foreach (get_object_vars($value) as $name => $one) {
        $members[iconv('UTF-8', 'UTF-16BE', (string) $name)] = canonical((string) $name) . ':' . canonical($one);
    }
    ksort($members, SORT_STRING);
    return '{' . implode(',', $members) . '}';
}

/** What the conformance suite asks: how often an event was acted on, and what was stored. */
function probe(string $id): array
{
    $text = @file_get_contents(fileOf($id));
    if ($text === false) {
        return ['effects' => 0];
    }
    $stored = json_decode($text, false, 512, JSON_THROW_ON_ERROR);
    return ['effects' => 1, 'digest' => 'sha256:' . hash('sha256', canonical($stored->data))];
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
    echo json_encode(probe((string) ($_GET['id'] ?? '')));
} else {
    http_response_code(404);
}
