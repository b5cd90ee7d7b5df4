// Puts the code from the address into the form and sends it.
function send() {
  const code = location.hash.slice(1);
  if (!code) return;
  history.replaceState(null, "", location.pathname);
  document.getElementById("code").value = code;
  document.getElementById("login").submit();
}
send();
// The address may be pasted into a tab that shows this page.
addEventListener("hashchange", send);
