// Questions to the server that this page came from. Its token came behind the # of the address, which no server sees.

const place = "lockstep-token";

/** Takes the token out of the address, so that a copied address does not hold it, and keeps it for this server. */
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1));
  const token = given.get("token");
  if (token) {
    localStorage.setItem(place, token);
    given.delete("token");
    history.replaceState(null, "", `#${given}`);
  }
}

/** The answer to a question; throws with a sentence for the reader. */
export async function ask(question) {
  let response;
  try {
    response = await fetch("/answer", { method: "POST", headers: { "X-Lockstep-Token": localStorage.getItem(place) ?? "" }, body: JSON.stringify(question) });
  } catch {
    throw new Error("lockstep explore no longer answers: start it again and open the address that it prints");
  }
  if (response.status === 403) throw new Error("this page is not allowed to ask: open the address that lockstep explore printed");
  if (!response.ok) throw new Error(`lockstep explore answered with ${response.status}`);
  return response.json();
}
