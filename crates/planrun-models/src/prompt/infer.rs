//! `infer`: a model answers with a value of a type.

use std::sync::Arc;

use planrun_lang::call::CallOutcome;
use planrun_lang::protocol::Sent;
use planrun_tools::tools::{
    BoxFuture, Conversation, Described, EventSender, Identity, Request, Transport,
};

use super::exchange::{Exchange, stopped};
use super::{MAX_REPAIRS, OpenModels};

pub(super) struct Infer {
    pub models: Arc<OpenModels>,
}

impl Transport for Infer {
    fn call(&self, request: Request) -> Conversation {
        let models = self.models.clone();
        Conversation::with_events(move |events| async move {
            let cancel = request.cancel.clone();
            let answer = cancel.run_until_cancelled(infer(&models, &request, events));
            answer.await.unwrap_or_else(|| Err(stopped(Sent::No)))
        })
    }

    fn identify(&self, identity: &mut Identity) {
        self.models.models.identify(identity);
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

async fn infer(models: &OpenModels, request: &Request, events: EventSender) -> CallOutcome {
    let mut exchange = Exchange::begin(models, request, None, Vec::new(), events)?;
    let mut repairs = 0;
    loop {
        let turn = exchange.turn().await?;
        let why = match exchange.read(&turn) {
            Ok(answer) => return Ok(answer),
            Err(why) => why,
        };
        if repairs == MAX_REPAIRS {
            return Err(exchange.gives_up(&why));
        }
        repairs += 1;
        exchange.reject(&why);
    }
}
