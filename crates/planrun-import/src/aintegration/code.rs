//! The code of listeners, of which only a constant result is understood.

/// The deepest nesting of a result.
const MAX_DEPTH: usize = 40;

/// Returns the success that code reports; `None` if it does anything else than to assign a constant result with it.
pub fn verdict(code: &str) -> Option<bool> {
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with('#');
    let lines: Vec<&str> = code.lines().filter(is_code).collect();
    let assigned = lines.join("\n");
    let value = assigned.trim().strip_prefix("result")?.trim_start();
    let mut reader = Reader {
        rest: value.strip_prefix('=')?,
    };
    let Constant::Object(success) = reader.value(0)? else {
        return None;
    };
    let rest = reader.rest.trim();
    let is_comment = rest.starts_with('#') && !rest.contains('\n');
    success.filter(|_| rest.is_empty() || is_comment)
}

/// A literal of Python.
enum Constant {
    Bool(bool),
    /// A dictionary, with the truth value of its `success`.
    Object(Option<bool>),
    Other,
}

/// Parses literals without escapes. Anything else is `None`.
struct Reader<'c> {
    rest: &'c str,
}

impl<'c> Reader<'c> {
    fn value(&mut self, depth: usize) -> Option<Constant> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.rest = self.rest.trim_start();
        match self.rest.chars().next()? {
            '"' | '\'' => self.text().map(|_| Constant::Other),
            '[' => self.list(']', depth),
            '(' => self.list(')', depth),
            '{' => self.object(depth),
            _ => self.word(),
        }
    }

    fn eat(&mut self, sign: char) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(sign)?;
        Some(())
    }

    fn text(&mut self) -> Option<&'c str> {
        self.rest = self.rest.trim_start();
        let quote = self
            .rest
            .chars()
            .next()
            .filter(|c| matches!(c, '"' | '\''))?;
        let (text, rest) = self.rest.strip_prefix(quote)?.split_once(quote)?;
        self.rest = rest;
        (!text.contains(['\\', '\n'])).then_some(text)
    }

    fn word(&mut self) -> Option<Constant> {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '+');
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        match word {
            "True" => return Some(Constant::Bool(true)),
            "False" => return Some(Constant::Bool(false)),
            "None" => return Some(Constant::Other),
            _ => {}
        }
        let digits = word.strip_prefix('-').unwrap_or(word);
        let is_digit = |at: usize| digits.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        // A leading zero is an error in Python.
        let is_number = is_digit(0) && !(digits.starts_with('0') && is_digit(1));
        (is_number && word.parse::<f64>().is_ok()).then_some(Constant::Other)
    }

    fn list(&mut self, close: char, depth: usize) -> Option<Constant> {
        self.rest = self.rest.get(1..)?;
        while self.eat(close).is_none() {
            self.value(depth + 1)?;
            if self.eat(',').is_none() {
                self.eat(close)?;
                break;
            }
        }
        Some(Constant::Other)
    }

    fn object(&mut self, depth: usize) -> Option<Constant> {
        self.rest = self.rest.get(1..)?;
        let mut success = None;
        while self.eat('}').is_none() {
            let key = self.text()?;
            self.eat(':')?;
            let value = self.value(depth + 1)?;
            // The last of several values of a key counts.
            if key == "success" {
                success = match value {
                    Constant::Bool(truth) => Some(truth),
                    Constant::Object(_) | Constant::Other => None,
                };
            }
            if self.eat(',').is_none() {
                self.eat('}')?;
                break;
            }
        }
        Some(Constant::Object(success))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_constant_result_reports_a_success() {
        let codes = [
            ("result = {'success': True}", Some(true)),
            (
                "result={\"success\": False, 'a': [1, -2.5, None,], }",
                Some(false),
            ),
            (
                "# well\n\nresult = {\n    'success': True,\n}  # so",
                Some(true),
            ),
            ("result = {'success': True, 'success': False}", Some(false)),
            (
                "result = {'success': False, 'a': {'success': True}}",
                Some(false),
            ),
            ("result = {'a': {'success': True}}", None),
            ("result = {'success': true}", None),
            ("result = {'success': 1}", None),
            ("result = {'success': True if a < 100 else False}", None),
            ("result = {'success': True} if a else {}", None),
            ("result = {'success': True}; task_updates = {}", None),
            ("result = {'success': True}\nprint(1)", None),
            ("result = {'success': True} # well\nprint(1)", None),
            (
                "result = {'success': compute(), 'fallback_success': True}",
                None,
            ),
            ("result = {'success': True, **more}", None),
            ("result = {'success': True, 'a': f'b'}", None),
            ("result = {'success': True, 'a': 'b' 'c'}", None),
            ("result = {'success': True, 'a': 01}", None),
            ("result = {'success': True, 'a': 1 - 2}", None),
            ("result == {'success': True}", None),
            ("results = {'success': True}", None),
            ("result = True", None),
            ("result = {'success': True", None),
        ];
        for (code, expected) in codes {
            assert_eq!(verdict(code), expected, "{code}");
        }
        let deep = format!("result = {{'success': True, 'a': {}", "[".repeat(100_000));
        assert_eq!(verdict(&deep), None);
    }
}
